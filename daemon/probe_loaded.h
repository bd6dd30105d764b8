// measure_loaded: what a load waits while others use the same memory.
//
// One thread chases through half of the memory, the others read the rest in
// order, with pauses: from none of them at all to without a pause. A memory
// that is used to its limit answers several times as late as an idle one, long
// before its bandwidth is reached on some.
// Thread safety: call from one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/probe_node.h"

namespace thermocline {

struct LoadedFigure {
  Measured bytes_per_s;  // that the others read; 0: nobody did
  Measured read_ns;
};

/// The idle figure first, then by rising load, as many as the time allows.
/// Overwrites the memory. Empty where the plan has one CPU only. Errors:
/// kInterrupted; those of run_together().
Result<std::vector<LoadedFigure>> measure_loaded(
    const NodePlan& plan, const ProbeOptions& options, ProbePace& pace,
    std::span<std::uint64_t> words);

/// Its weight in a ProbePace.
int weight_of_loaded(const NodePlan& plan);

}  // namespace thermocline
