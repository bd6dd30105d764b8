// StepLength: how long a training step takes, by the marks of its ends.
//
// A window shorter than a step shows a policy a part of it: what the forward
// pass uses, then what the backward pass does. Each looks like a changed job,
// and what one window fetches, the next puts out. So a target's window lasts
// for a step at least, where the job marks its steps (the tensor observer does
// so at the end of an optimizer's step). Whose steps are shorter than the
// daemon's windows, or not marked, has those.
//
// Thread safety: none. Units: nanoseconds of one clock that never goes back.
#pragma once

#include "traces/types.h"

namespace thermocline {

class StepLength {
 public:
  // No window is longer, whatever the step.
  static constexpr Nanos kLongest = 60'000'000'000;

  /// A step ended.
  void mark(Nanos now);
  /// Of the longest among the last ones; 0: not known, or the job marks none
  /// any more, which is said after two steps' time without.
  Nanos length(Nanos now) const;

 private:
  Nanos last_ = -1;  // mark; -1: none yet
  Nanos length_ = 0;
};

}  // namespace thermocline
