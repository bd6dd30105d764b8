#include "estimator/sweeps.h"

#include <cstddef>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace thermocline {

std::uint64_t read_sweep(std::span<const std::uint64_t> words) {
  // Four sums: one would make each addition wait for the one before it.
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  const std::size_t whole = words.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    a += words[i] + words[i + 4];
    b += words[i + 1] + words[i + 5];
    c += words[i + 2] + words[i + 6];
    d += words[i + 3] + words[i + 7];
  }
  for (std::size_t i = whole; i < words.size(); ++i) a += words[i];
  return a + b + c + d;
}

void write_sweep(std::span<std::uint64_t> words, std::uint64_t value) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = value + i;
}

#ifdef __SSE2__

void write_around(std::span<std::uint64_t> words, std::uint64_t value) {
  const auto both = _mm_set1_epi64x(static_cast<long long>(value));
  for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
    for (std::size_t word = i; word < i + 8; word += 2) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(&words[word]), both);
    }
  }
}

void finish_writes_around() { _mm_sfence(); }

bool can_write_around() { return true; }

#else

void write_around(std::span<std::uint64_t> words, std::uint64_t value) {
  write_sweep(words, value);
}

void finish_writes_around() {}

bool can_write_around() { return false; }

#endif

void write_around_sweep(std::span<std::uint64_t> words, std::uint64_t value) {
  write_around(words, value);
  // Else they may still be under way when the clock is read.
  finish_writes_around();
}

}  // namespace thermocline
