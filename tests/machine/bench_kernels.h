// The kernels of machine_bench: what an access, or a line, costs on a node.
#pragma once

#include <string>
#include <vector>

#include "tests/machine/bench_clock.h"

namespace thermocline {

struct KernelResult {
  int node = 0;
  unsigned threads = 1;
  std::string kernel;
  // Per access, or per line for the sequential ones; the mean of all threads.
  double guest_ns = 0;    ///< by the guest's clock
  double virtual_ns = 0;  ///< by the vCPUs' clocks
  double stall_ns = 0;    ///< the part of it that is waiting for memory
  /// What the program moved, all threads together, per virtual time.
  double gb_per_s = 0;
  /// The share of the time, by the guest's clock, in which all threads ran.
  double together = 1;
};

struct BenchSize {
  std::size_t bytes;     ///< of each buffer; every thread has its own
  std::size_t accesses;  ///< of chase, gather and scatter
};

/// Runs every kernel on `node` with `threads` threads, each on a vCPU of its
/// own, from vCPU 0 on.
std::vector<KernelResult> run_kernels(BenchClock& clock, int node,
                                      unsigned threads, BenchSize size);

}  // namespace thermocline
