// A smaller trace of the same job: what a slower sampler would have recorded,
// and what may leave the house.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "traces/trace.h"

namespace thermocline {

/// Keeps each sample with a chance of 1 in `every` (binomial thinning: no
/// beat with the job's own period, as every n-th would have), and says so in
/// the samples' periods, in those recorded as events, and in the counts of
/// lost samples. What the job did altogether is estimated without bias, with
/// sqrt(every) times the error. Samples of a period beyond 32 bits stay at
/// the largest. Of each CPU's counters, every n-th reading stays, and the first
/// and the last (they are cumulative). The same seed keeps the same samples, on
/// every machine. Requires: every >= 1.
Trace thin(Trace trace, std::uint32_t every, std::uint64_t seed = 1);

/// Without the samples that a cache served (from_cache.h).
Trace misses_alone(Trace trace);

/// Cuts what tells of the user and the host and of nothing else: folders in
/// the command and in mappings' names, and physical addresses. Labels, layers
/// and operators' names stay.
Trace anonymous(Trace trace);

}  // namespace thermocline
