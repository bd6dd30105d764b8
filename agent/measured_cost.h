// MeasuredCost: how much time a modelled nanosecond of slow memory takes.
//
// The model says what accesses lose in slow memory, one by one; misses overlap
// or wait for one another, so in truth it is a third of that, or six times as
// much. Both are there to be seen: what a window took for each modelled
// nanosecond of its accesses, and what share of these lay in slow memory. As
// much as the first changes from one window to the next for each change of the
// second, so much is asked for: a line through the origin, by Bayesian
// regression (Bishop, Pattern Recognition and Machine Learning, 2006, 3.3). The
// prior is what an agent says, give or take as much, or what the model says.
// How far windows lie off the line, for other reasons (a busy processor, a job
// that began within one), says how much they count beside it; to begin with, a
// third of the prior. What a window errs by is a time, so one that accesses
// half as much has a quarter of the weight. Old windows count for less. Where
// moves change the share and the time does not follow, the slope falls, below 0
// if it gets worse: then moves earn nothing, whatever the model says.
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
    most_ = std::max(kKept * most_, all_ns * all_ns);
    const Window now{all_ns, slow_ns / all_ns, took_ns / all_ns};
    const Window before = std::exchange(last_, now);
    if (!(before.all > 0)) return;
    for (double* one : {&weight_, &xx_, &xy_, &yy_}) *one *= kKept;
    const double all = std::min(now.all, before.all);
    const double x = now.share - before.share;
    const double y = now.time - before.time;
    weight_ += all * all;
    xx_ += all * all * x * x;
    xy_ += all * all * x * y;
    yy_ += all * all * y * y;
  }

  /// The factor on modelled time; `prior` where windows tell nothing.
  double factor(double prior) const {
    if (!(xx_ > 0)) return prior;
    const double variance = std::max(1.0, prior * prior);
    const double off = std::max(0.0, yy_ - xy_ * xy_ / xx_) / most_;
    const double noise = (off + kPriorWindows * kNoise * variance) /
                         (weight_ / most_ + kPriorWindows);
    const double sure = variance * xx_ / most_ + noise;
    if (!(sure > 0)) return prior;
    return (variance * xy_ / most_ + noise * prior) / sure;
  }

 private:
  static constexpr double kKept = 0.995;  // of what is known, by window
  static constexpr double kNoise = 0.1;   // of the prior's square, at first
  static constexpr double kPriorWindows = 10;  // windows that this counts for
  struct Window {
    double all = 0;    // modelled, ns
    double share = 0;  // of it, in slow memory
    double time = 0;   // for each modelled ns
  };
  Window last_;
  double most_ = 0;    // the largest weight of a window
  double weight_ = 0;  // of all changes
  double xx_ = 0;      // of changes, weighed: share by share
  double xy_ = 0;      // share by time
  double yy_ = 0;      // time by time
};

}  // namespace thermocline
