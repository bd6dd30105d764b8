// stream_copy: bytes to another place, past the caches.
//
// For what is more than they hold and is not read again at once. libpmem has
// the same, and is slower at it: 256 KiB at a time, out of memory, took 13 to
// 15 ms for 128 MiB where this takes 9 to 10 (Zen 5, one thread).
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "traces/varint.h"

namespace thermocline {

/// As memcpy. No other stores are ordered behind these until stream_fence().
/// Requires: the places do not overlap.
void stream_copy(std::uint8_t* to, ByteSpan from);
/// Waits for this thread's.
void stream_fence();

}  // namespace thermocline
