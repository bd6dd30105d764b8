// Memory of one node, and threads of one vCPU, for machine_bench.
#pragma once

#include <numa.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "estimator/line_cycle.h"

namespace thermocline {

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

/// Makes one cycle through all lines of `data`, in `order`.
inline void link_lines(const Buffer& data,
                       const std::vector<std::uint32_t>& order) {
  link_lines({data.words, data.count()}, order);
}

/// Follows the cycle for `accesses` steps from the line `first`.
inline void chase(const Buffer& data, std::uint32_t first,
                  std::size_t accesses) {
  sink = chase(data.words, first * kWordsPerLine, accesses);
}

/// Binds the calling thread to one vCPU: clocks are per vCPU.
inline void stay_on(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace thermocline
