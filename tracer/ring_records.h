// ring_records: walks the records in a perf ring buffer's memory.
//
// The kernel writes at `head`, the reader follows at `tail`; both run freely
// and wrap by the size, a power of two. Records may straddle the end.
// Thread safety: pure; memory barriers are the caller's.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tracer/perf_records.h"

namespace thermocline {

/// Calls use(header, body) for every record between `tail` and `head`.
/// `scratch` holds records that straddle the end. Returns: true when the
/// records filled the space exactly; else the rest cannot be followed.
template <typename Use>
bool each_ring_record(std::span<const std::uint8_t> ring, std::uint64_t tail,
                      std::uint64_t head, std::vector<std::uint8_t>& scratch,
                      Use use) {
  const std::uint64_t mask = ring.size() - 1;
  if (head - tail > ring.size()) return false;
  while (head - tail >= kPerfHeaderBytes) {
    const auto at = static_cast<std::size_t>(tail & mask);
    if (ring.size() - at < kPerfHeaderBytes) return false;
    PerfHeader header;
    std::memcpy(&header.type, ring.data() + at, 4);
    std::memcpy(&header.misc, ring.data() + at + 4, 2);
    std::memcpy(&header.size, ring.data() + at + 6, 2);
    // Sizes are multiples of 8 bytes, so that a header never straddles.
    if (header.size < kPerfHeaderBytes || header.size % 8 != 0 ||
        header.size > head - tail) {
      return false;
    }
    const std::size_t before_end = ring.size() - at;
    auto record =
        ring.subspan(at, std::min<std::size_t>(header.size, before_end));
    if (header.size > before_end) {
      scratch.assign(record.begin(), record.end());
      const auto wrapped = ring.first(header.size - before_end);
      scratch.insert(scratch.end(), wrapped.begin(), wrapped.end());
      record = scratch;
    }
    use(header, record.subspan(kPerfHeaderBytes));
    tail += header.size;
  }
  return tail == head;
}

}  // namespace thermocline
