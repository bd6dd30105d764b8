// MeasuredCost: how much time a modelled nanosecond of slow memory takes.
//
// The model says what accesses lose in slow memory, one by one; misses overlap
// or wait for one another, so in truth it is a third of that, or six times as
// much. Both are there to be seen: what a window took for each modelled
// nanosecond of its accesses, and what share of these lay in slow memory. Over
// windows that differ in that share the first is a line in the second, and its
// slope is what is asked for. So it is fitted, by least squares weighed by what
// was modelled, old windows for less; with a prior (what an agent says) that
// counts as much as ten windows whose shares differ by 0.1 each way. Where
// moves change the share and the time does not follow, the slope falls, below 0
// if it gets worse: then moves earn nothing, whatever the model says.
//
// What it cannot tell: phases whose other work differs as their share does.
//
// Thread safety: none.
#pragma once

#include <algorithm>

namespace thermocline {

class MeasuredCost {
 public:
  /// A window: what it took, what its accesses would lose if all were in slow
  /// memory, and what those lose that are, by the model; ns. One that would
  /// lose nothing says nothing.
  void see(double took_ns, double all_ns, double slow_ns) {
    if (!(all_ns > 0)) return;
    for (double* one : {&windows_, &weight_, &x_, &y_, &xx_, &xy_}) {
      *one *= kKept;
    }
    const double x = slow_ns / all_ns;
    const double y = took_ns / all_ns;
    windows_ += 1;
    weight_ += all_ns;
    x_ += all_ns * x;
    y_ += all_ns * y;
    xx_ += all_ns * x * x;
    xy_ += all_ns * x * y;
  }

  /// The factor on modelled time; `prior` where windows tell nothing.
  double factor(double prior) const {
    if (!(weight_ > 0)) return prior;
    const double mean = x_ / weight_;
    const double spread = std::max(0.0, xx_ / weight_ - mean * mean);
    const double along = xy_ / weight_ - mean * (y_ / weight_);
    return (windows_ * along + kPrior * prior) / (windows_ * spread + kPrior);
  }

 private:
  static constexpr double kKept = 0.995;  // of what is known, by window
  static constexpr double kPrior = 10 * 0.1 * 0.1;
  double windows_ = 0;
  double weight_ = 0;
  double x_ = 0;  // share in slow memory, weighed
  double y_ = 0;  // time for each modelled ns
  double xx_ = 0;
  double xy_ = 0;
};

}  // namespace thermocline
