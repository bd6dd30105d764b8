// The loaded-latency curve of machine_bench: one vCPU chases pointers while
// another streams through the same node's memory at a set rate.
#pragma once

#include <vector>

#include "tests/machine/bench_clock.h"

namespace thermocline {

/// One point of the curve.
struct LoadedLatency {
  int node = 0;
  /// Rounds that the streaming vCPU idles away between two lines;
  /// negative: it does not stream at all.
  int pause = 0;
  double injected_gb_per_s = 0;  ///< in the virtual time of the chase
  double chase_ns = 0;           ///< virtual, per access
};

/// Measures `node` from no load to as much as one vCPU makes. Needs two vCPUs.
std::vector<LoadedLatency> run_loaded(BenchClock& clock, int node,
                                      std::size_t bytes, std::size_t accesses);

}  // namespace thermocline
