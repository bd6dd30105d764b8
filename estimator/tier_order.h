// The order of tiers: fastest first, and when figures contradict it.
//
// A tier may be slower than the next in one respect (memory in the package has
// the longer latency and several times the bandwidth); it is in the wrong
// place when it is slower in every respect that both tell.
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "estimator/machine.h"

namespace thermocline {

/// Why these tiers cannot be fastest first, or empty.
std::string contradiction(const std::vector<Tier>& tiers);

/// By latency over bandwidth, the sums of reads and writes, as Linux ranks
/// memory (mm/memory-tiers.c, mt_perf_to_adistance), from those figures that
/// all tiers have. Equal ones, and all if there is no such figure, stay.
void put_fastest_first(std::vector<Tier>& tiers);

}  // namespace thermocline
