// What holds for every fraction and number of ranks; run by threads and mpirun.
#pragma once

#include "training/exchange/exchange.h"

namespace thermocline {

/// Samples of differing sizes whose bytes tell their id.
std::vector<StoredSample> numbered_shard(const Ranks& ranks, std::size_t count);

// Each sample is with one rank after each epoch, whole; sizes stay; what the
// ranks were sent is what the plan says.
void check_nothing_lost(Ranks& ranks, double fraction);

}  // namespace thermocline
