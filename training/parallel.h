// in_parallel: the same work on each of many things, by a few threads.
//
// Threads take the next index when they are done with one, so that uneven
// things even out. They live for one call: starting one takes some 20 us,
// which is little beside the megabytes that are copied here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace thermocline {

/// Calls work(i) for each i below `count`, then last() once in each thread
/// that took part. The caller's thread is one of them. Requires: threads > 0;
/// neither throws.
template <typename Work, typename Last>
void in_parallel(unsigned threads, std::size_t count, Work work, Last last) {
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
    last();
  };
  std::vector<std::jthread> others;
  const auto helpers =
      std::min<std::size_t>(threads, std::max<std::size_t>(count, 1)) - 1;
  others.reserve(helpers);
  for (std::size_t i = 0; i < helpers; ++i) others.emplace_back(take);
  take();
}

template <typename Work>
void in_parallel(unsigned threads, std::size_t count, Work work) {
  in_parallel(threads, count, work, [] {});
}

}  // namespace thermocline
