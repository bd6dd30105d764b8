// Link: the way to one tier's memory, shared by all cores.
//
// Lines pass one after another, reads and writes alike, each holding the link
// for its occupancy: that is the tier's bandwidth, and why its latency rises
// under load. The emulator shows them to the link slightly out of order: a core
// may be a little ahead of another (pace.h). Therefore the link
// remembers when it was idle, and a line that comes late takes its turn there.
// Thread safety: any number of cores at once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>

#include "tests/machine/kinds.h"

namespace thermocline {

class Link {
 public:
  /// Queues one line at `now`; returns when its transfer begins.
  Picos pass(Picos now, Picos occupancy) {
    while (locked_.test_and_set(std::memory_order_acquire)) {
      while (locked_.test(std::memory_order_relaxed)) __builtin_ia32_pause();
    }
    const Picos start = turn_of(now, occupancy);
    locked_.clear(std::memory_order_release);
    return start;
  }

 private:
  static constexpr unsigned kGaps = 64;
  struct Gap {
    Picos begin = 0;
    Picos end = 0;
  };

  Picos turn_of(Picos now, Picos occupancy) {
    if (now >= free_) {
      if (now >= free_ + occupancy) gaps_[newest_++ % kGaps] = {free_, now};
      free_ = now + occupancy;
      return now;
    }
    // The earliest gap that is long enough. Gaps are in order of time, and for
    // a core alone all of them have passed.
    Gap* found = nullptr;
    for (unsigned i = 1; i <= kGaps; ++i) {
      Gap& gap = gaps_[(newest_ - i) % kGaps];
      if (gap.end <= now) break;
      if (std::max(gap.begin, now) + occupancy <= gap.end) found = &gap;
    }
    const Picos start = found != nullptr ? std::max(found->begin, now) : free_;
    (found != nullptr ? found->begin : free_) = start + occupancy;
    return start;
  }

  alignas(64) std::atomic_flag locked_;
  Picos free_ = 0;
  unsigned newest_ = 0;
  std::array<Gap, kGaps> gaps_{};
};

}  // namespace thermocline
