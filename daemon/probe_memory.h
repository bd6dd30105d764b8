// take_memory: memory of a node, touched, to be measured.
//
// Thread safety: call from one thread.
#pragma once

#include "daemon/bound_memory.h"
#include "daemon/probe_pace.h"
#include "daemon/probe_plan.h"

namespace thermocline {

// Shares of time that take_memory() and a random cycle have: they are no
// figures, but take as long as some.
inline constexpr int kTakingWeight = 4;
inline constexpr int kCycleWeight = 4;

/// As much as the plan says, all words `value`, first touched by all of its
/// threads; less where the time is short, but the plan's least. Errors: as
/// BoundMemory; kInterrupted.
Result<BoundMemory> take_memory(Kernel& kernel, const NodePlan& plan,
                                ProbePace& pace, std::uint64_t value);

/// The cycle of line_cycle.h, through all lines; fewer where the time is short,
/// but as many as the plan's least. Returns: how many. Errors: kInterrupted.
Result<std::size_t> make_cycle(const NodePlan& plan, ProbePace& pace,
                               std::span<std::uint64_t> words);

}  // namespace thermocline
