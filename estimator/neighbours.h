// Neighbours: objects that lie close together, in runs of up to 64.
//
// Thread safety: pure.
#pragma once

#include <span>
#include <vector>

#include "traces/regions.h"

namespace thermocline {

/// `objects`, numbers of `regions`, by address, in runs: what begins less than
/// 64 times `bytes` after the first of a run belongs to it.
std::vector<std::vector<ObjectId>> neighbours(std::span<const Region> regions,
                                              std::vector<ObjectId> objects,
                                              Bytes bytes);

}  // namespace thermocline
