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

/// Makes one cycle through the lines of `order`, in that order; of the first
/// ones only when `go_on`, which is told how many there are and asked now and
/// then, says no. Returns: how many lines are in it. Requires: `words` holds
/// all of them.
template <typename GoOn>
std::size_t link_lines(std::span<std::uint64_t> words,
                       std::span<const std::uint32_t> order,
                       const GoOn& go_on) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 16;
  if (order.empty()) return 0;
  std::size_t last = 0;
  for (; last + 1 < order.size(); ++last) {
    if (last % kAtOnce == kAtOnce - 1 && !go_on(last + 1)) break;
    words[order[last] * kWordsPerLine] = order[last + 1] * kWordsPerLine;
  }
  words[order[last] * kWordsPerLine] = order[0] * kWordsPerLine;
  return last + 1;
}

inline void link_lines(std::span<std::uint64_t> words,
                       std::span<const std::uint32_t> order) {
  link_lines(words, order, [](std::size_t) { return true; });
}

/// Follows the cycle for `steps` from the word `at`. Returns: where it ends;
/// use it, or the compiler leaves out the walk.
inline std::uint64_t chase(const std::uint64_t* words, std::uint64_t at,
                           std::size_t steps) {
  for (std::size_t i = 0; i < steps; ++i) at = words[at];
  return at;
}

}  // namespace thermocline
