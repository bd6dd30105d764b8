// The loop of puts that bare MPI and our windows are compared by: 64 puts
// between two flushes, as a rank that hands over rows does.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace thermocline {

constexpr std::size_t kLargestPut = 64 * 1024;

/// Prints for each size the median rate of seven turns, "put BYTES GB/s".
/// put(bytes) starts one; flush() waits for all.
template <typename Put, typename Flush>
void measure_puts(Put put, Flush flush) {
  constexpr std::size_t kPuts = 64;
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{4096}, kLargestPut}) {
    const auto batches = std::min<std::size_t>(200, (1 << 21) / bytes);
    std::vector<double> seconds;
    for (int turn = 0; turn < 7; ++turn) {
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t b = 0; b < batches; ++b) {
        for (std::size_t i = 0; i < kPuts; ++i) put(bytes);
        flush();
      }
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - start;
      seconds.push_back(took.count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
    const double all = static_cast<double>(bytes * kPuts * batches);
    std::printf("put %zu %.4f\n", bytes, 1e-9 * all / seconds[3]);
  }
}

}  // namespace thermocline
