// MeasuredCost: how much time a modelled nanosecond of slow memory takes.
//
// The model says what accesses lose in slow memory, one by one; misses overlap
// or wait for one another, so in truth it is a third of that, or six times as
// much. Both are there to be seen: what a window took for each modelled
// nanosecond of its accesses, and what share of these lay in slow memory. As
// much as the first changes from one window to the next for each change of the
// second, so much is asked for: a line through the origin, fitted by least
// squares weighed by what was modelled, old windows for less; with a prior
// (what an agent says) that counts as much as ten changes of 0.1. Where moves
// change the share and the time does not follow, the slope falls, below 0 if it
// gets worse: then moves earn nothing, whatever the model says.
//
// Changes, and not the windows themselves: a job whose phases differ in their
// other work as well (a training job while it starts, and its steps) is not one
// line. What that leaves: phases that change with every window.
//
// Thread safety: none.
#pragma once

#include <algorithm>
#include <utility>

namespace thermocline {

class MeasuredCost {
 public:
  /// A window: what it took, what its accesses would lose if all were in slow
  /// memory, and what those lose that are, by the model; ns. One that would
  /// lose nothing says nothing.
  void see(double took_ns, double all_ns, double slow_ns) {
    if (!(all_ns > 0)) return;
    const Window now{all_ns, slow_ns / all_ns, took_ns / all_ns};
    const Window before = std::exchange(last_, now);
    if (!(before.weight > 0)) return;
    for (double* one : {&changes_, &weight_, &xx_, &xy_}) *one *= kKept;
    const double weight = std::min(now.weight, before.weight);
    const double x = now.share - before.share;
    changes_ += 1;
    weight_ += weight;
    xx_ += weight * x * x;
    xy_ += weight * x * (now.time - before.time);
  }

  /// The factor on modelled time; `prior` where windows tell nothing.
  double factor(double prior) const {
    if (!(weight_ > 0)) return prior;
    const double count = changes_ / weight_;
    return (count * xy_ + kPrior * prior) / (count * xx_ + kPrior);
  }

 private:
  static constexpr double kKept = 0.995;  // of what is known, by window
  static constexpr double kPrior = 10 * 0.1 * 0.1;
  struct Window {
    double weight = 0;  // modelled, ns
    double share = 0;   // of it, in slow memory
    double time = 0;    // for each modelled ns
  };
  Window last_;
  double changes_ = 0;
  double weight_ = 0;
  double xx_ = 0;  // of changes, weighed: share by share
  double xy_ = 0;  // and by time
};

}  // namespace thermocline
