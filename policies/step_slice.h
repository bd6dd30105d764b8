// StepSlice: one step of a trace, cut out as a trace of its own.
//
// What Iteration is made from. The cut has the step's operators, every tensor
// that is alive in it (serials 1, 2, ... in the order of birth), and marks at
// its two ends; the lives of its tensors are counted in operators.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/machine.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

struct StepSlice {
  struct Life {           // as in Iteration::Tensor
    ObjectId serial = 0;  // in the whole trace; of two joined, the later one
    std::size_t born = 0;
    std::size_t dies = 0;
    bool wraps = false;
    bool persistent = false;
  };
  Trace trace;
  std::vector<Life> lives;  // by tensor
};

struct ChosenStep {
  std::optional<std::size_t> step;  // none: the whole trace is the step
  std::vector<std::string> notes;
};

/// The step of which Iteration::from_trace speaks, or the one that is asked
/// for. Errors: kInvalid for one that the trace does not have.
Result<ChosenStep> choose_step(const Trace& trace,
                               std::optional<std::size_t> asked);

/// Requires: a step of choose_step() for a trace with the same number of
/// steps. Errors: kInvalid when nothing is left of operators or tensors.
Result<StepSlice> cut_step(const Trace& trace, std::optional<std::size_t> step);

/// Gives every operator the time that its reads and writes take in the fastest
/// tier, for a trace whose clock is no time.
void assume_memory_bound(Trace& trace, const Tier& fastest);

}  // namespace thermocline
