// Link: the way to one tier's memory, shared by all cores.
//
// Lines pass one after another, reads and writes alike, each holding the link
// for its occupancy: that is the tier's bandwidth, and why its latency rises
// under load.
// Thread safety: any number of cores at once.
#pragma once

#include <algorithm>
#include <atomic>

#include "tests/machine/kinds.h"

namespace thermocline {

class Link {
 public:
  /// The latest virtual time at which any core has used the link. A core far
  /// behind it must look from there: cores do not run in step, and one that
  /// was slow would otherwise queue behind all that passed in its absence.
  Picos latest() const { return latest_.load(std::memory_order_relaxed); }

  /// Queues one line at `now`; returns when its transfer begins.
  Picos pass(Picos now, Picos occupancy) {
    if (now > latest()) latest_.store(now, std::memory_order_relaxed);
    Picos free = free_.load(std::memory_order_relaxed);
    Picos start = 0;
    do {
      start = std::max(free, now);
    } while (!free_.compare_exchange_weak(free, start + occupancy,
                                          std::memory_order_relaxed));
    return start;
  }

 private:
  alignas(64) std::atomic<Picos> free_{0};
  std::atomic<Picos> latest_{0};
};

}  // namespace thermocline
