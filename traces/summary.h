// Summary: the figures that say what a trace holds.
//
// Thread safety: plain values, pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct Summary {
  std::uint64_t loads = 0;   // samples
  std::uint64_t stores = 0;  // samples
  std::uint64_t lost = 0;    // samples that are known to be missing
  Bytes footprint = 0;       // distinct pages that samples touched
  Bytes peak_live = 0;       // most bytes of tensors alive at one time
};

// The periods that one event was sampled with.
struct PeriodRange {
  std::string event;
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::uint64_t shortest = 1;
  std::uint64_t longest = 1;
  std::uint64_t changes = 0;
  bool operator==(const PeriodRange&) const = default;
};

/// By event, in order of first appearance. Requires: ordered by time.
std::vector<PeriodRange> period_ranges(const Trace& trace);

/// Cost: O(n log n).
Summary summarise(const Trace& trace);

/// The most bytes that tensors held at one time. Memory freed at an instant
/// can be used again at that instant; a tensor that dies as it is born holds
/// none.
Bytes peak_live_bytes(const Trace& trace);

/// Bytes of the distinct pages that samples touched.
Bytes footprint_bytes(const Trace& trace);

}  // namespace thermocline
