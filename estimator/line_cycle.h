// A random cycle through the cache lines of a buffer: the pointer chase.
//
// Each line holds the index of the word at which the next one begins, so no
// load can start before the one before it has ended, and no prefetcher can
// guess where it goes: time per step is the latency of a load.
// Thread safety: pure; the buffer is the caller's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace thermocline {

inline constexpr std::size_t kWordsPerLine = 8;

/// The numbers below `lines` in random order, the same one every time.
inline std::vector<std::uint32_t> shuffled_lines(std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return order;
}

/// Makes one cycle through the lines of `order`, in that order. Requires:
/// `words` holds all of them.
inline void link_lines(std::span<std::uint64_t> words,
                       std::span<const std::uint32_t> order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    words[order[i] * kWordsPerLine] =
        order[(i + 1) % order.size()] * kWordsPerLine;
  }
}

/// Follows the cycle for `steps` from the word `at`. Returns: where it ends;
/// use it, or the compiler leaves out the walk.
inline std::uint64_t chase(const std::uint64_t* words, std::uint64_t at,
                           std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) at = words[at];
  return at;
}

}  // namespace thermocline
