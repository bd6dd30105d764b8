// SampleOrder: for each sample, the earlier one that it most likely goes on
// from: of those before it, the nearest in address.
//
// Looked for among the last few of its own class (one instruction may read
// several arrays in turns), and among those of its kind (load or store) that
// came after the last of these, 64 at most: an unrolled loop reads one array by
// several instructions. Older ones may be of an earlier pass over the array.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

inline constexpr std::size_t kLookBack = 64;         // samples of a kind
inline constexpr std::size_t kMostLookBackOwn = 16;  // and of a class
inline constexpr std::uint32_t kNoSample = ~std::uint32_t{0};

/// Bytes from one address to the next, upward positive.
inline double way_between(const Sample& from, const Sample& to) {
  return static_cast<double>(
      static_cast<std::int64_t>(to.address - from.address));
}

/// Indices into trace.samples; kNoSample where there is none. `of`: the class
/// of each sample; `own`: by class, how many of its own are looked at, 1 to
/// kMostLookBackOwn. Requires: fewer than 2^32 - 1 samples.
/// Cost: O(samples * 80).
std::vector<std::uint32_t> nearest_before(const Trace& trace,
                                          std::span<const std::uint32_t> of,
                                          std::span<const std::size_t> own);

}  // namespace thermocline
