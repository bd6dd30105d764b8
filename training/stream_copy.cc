#include "training/stream_copy.h"

#include <atomic>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace thermocline {

#ifdef __SSE2__

void stream_copy(std::uint8_t* to, ByteSpan from) {
  constexpr std::size_t kLine = 64;
  const std::size_t off = reinterpret_cast<std::uintptr_t>(to) % kLine;
  const std::size_t first = off == 0 ? 0 : kLine - off;
  if (from.size() < first + kLine) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return;
  }
  std::memcpy(to, from.data(), first);
  std::size_t at = first;
  for (; at + kLine <= from.size(); at += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from.data() + at);
    auto* out = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1),
                  c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);  // the whole line at once, or it is read first
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  std::memcpy(to + at, from.data() + at, from.size() - at);
}

void stream_fence() { _mm_sfence(); }

#else

void stream_copy(std::uint8_t* to, ByteSpan from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void stream_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

#endif

}  // namespace thermocline
