// in_parallel: the same work on each of many things, by a few threads.
//
// Threads take the next index when they are done with one, so that uneven
// things even out. They live for one call: starting one takes some 20 us,
// which is little beside the megabytes that are copied here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace thermocline {

/// Threads that pay for so many bytes, at least one: starting one takes as long
/// as copying some 200 KB. `each`: bytes for which a further one is started; 0:
/// always all.
inline unsigned threads_for(std::uint64_t bytes, unsigned most,
                            std::uint64_t each = 1 << 20) {
  if (each == 0) return most;
  return static_cast<unsigned>(std::min<std::uint64_t>(most, 1 + bytes / each));
}

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
