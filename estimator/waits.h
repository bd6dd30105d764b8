// Waits: how long the core waited for each object's accesses, window by window.
//
// Accesses are not alike: a load that nobody made up for stalls the core for
// as long as memory takes, ten that overlap stall it for as long as one, and
// one that was fetched ahead for nothing. Processors that tell retire latencies
// (Sample::retire_latency) say which is which, sample by sample, so that a sum
// over samples is the time that was lost to an object where it lay.
//
// Thread safety: pure functions. Units: cycles, for the accesses that samples
// stand for.
#pragma once

#include <vector>

#include "estimator/pair_costs.h"
#include "traces/regions.h"

namespace thermocline {

/// By window, ordered by object; empty where not both runs tell. Requires: both
/// are cut into as many windows.
std::vector<std::vector<ObjectWait>> object_waits(const TierRun& slow,
                                                  const TierRun& fast,
                                                  const RegionMap& regions);

}  // namespace thermocline
