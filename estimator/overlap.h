// overlapped: the time of a job that moves tensors while it computes.
//
// A plan's copies are made one after another, in order, by a CopyEngine. An
// operator that needs a tensor in its new place waits for the rest of that copy
// and of those before it. What copies cost operators in turn (interference),
// and what they could do between operators, is left out: the one makes a plan
// look better than it is, the other worse.
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <span>

#include "estimator/operators.h"

namespace thermocline {

struct Copy {
  std::size_t tensor = 0;  // position
  TierId to = 0;
  std::size_t start = 0;   // the copy may begin with this operator
  std::size_t needed = 0;  // from this operator on the tensor is in `to`;
                           // the number of operators: by the job's end
};

struct Overlapped {
  double job_ns = 0;     // all included
  double waited_ns = 0;  // of it, for copies
  Bytes copied = 0;
};

/// `placement` is that at the start. Errors: kInvalid for a placement of other
/// tensors or tiers, copies whose start or needed decreases, or a copy of an
/// unknown tensor, to an unknown tier, or needed before it starts.
/// Cost: O(operators and their tensors + copies).
Result<Overlapped> overlapped(const OperatorModel& model,
                              std::vector<TierId> placement,
                              std::span<const Copy> copies);

}  // namespace thermocline
