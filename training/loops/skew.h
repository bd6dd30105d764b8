// skew(): two rows by which a loop can be cut into tiles of a wavefront.
//
// Under both rows no dependence points backwards, so of two tiles that depend
// on each other the later one lies further along one row or both. Thread
// safety: pure. Source: after Wolf and Lam, "A Loop Transformation Theory and
// an Algorithm to Maximize Parallelism" (IEEE TPDS 1991): fully permutable
// nests; the search for small rows is ours.
#pragma once

#include <optional>
#include <utility>

#include "training/loops/dependence.h"

namespace thermocline {

using Rows = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

/// The rows (time, space), as short as were found; nothing if fewer than two
/// dimensions have known distances throughout.
std::optional<Rows> skew(const Loop& loop,
                         const std::vector<Dependence>& dependences);

}  // namespace thermocline
