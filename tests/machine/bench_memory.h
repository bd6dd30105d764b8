// Memory of one node, and threads of one vCPU, for machine_bench.
#pragma once

#include <numa.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace thermocline {

constexpr std::size_t kWordsPerLine = 8;
constexpr double kLineBytes = 64;

/// Words on one node, all touched.
struct Buffer {
  Buffer(std::size_t bytes, int node)
      : size(bytes),
        words(static_cast<std::uint64_t*>(numa_alloc_onnode(bytes, node))) {
    if (words == nullptr) std::abort();
    std::fill(words, words + count(), 1);
  }
  ~Buffer() { numa_free(words, size); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::size_t count() const { return size / sizeof *words; }
  std::size_t lines() const { return count() / kWordsPerLine; }

  std::size_t size;
  std::uint64_t* words;
};

/// What is computed goes here, so that it is computed.
inline volatile std::uint64_t sink;

/// Fills the cache with clean lines, so that a measurement pays for no line
/// written back on behalf of the one before. `clean`: twice the cache at least.
inline void wash_cache(const Buffer& clean) {
  for (std::size_t i = 0; i < clean.count(); i += kWordsPerLine) {
    sink = clean.words[i];
  }
}

inline std::vector<std::uint32_t> shuffled_lines(std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
  return order;
}

/// Makes one cycle through all lines of `data`, in `order`.
inline void link_lines(const Buffer& data,
                       const std::vector<std::uint32_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    data.words[order[i] * kWordsPerLine] =
        order[(i + 1) % order.size()] * kWordsPerLine;
  }
}

/// Follows the cycle for `accesses` steps from the line `first`.
inline void chase(const Buffer& data, std::uint32_t first,
                  std::size_t accesses) {
  const std::uint64_t* const words = data.words;
  std::uint64_t at = first * kWordsPerLine;
  for (std::size_t i = 0; i < accesses; ++i) at = words[at];
  sink = at;
}

/// Binds the calling thread to one vCPU: clocks are per vCPU.
inline void stay_on(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace thermocline
