// Counter readings: what a core's and a memory controller's counters say went
// on between two readings, beside the samples taken meanwhile.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

// Samples of the trace from `first` up to `last`, and what was counted then.
struct CounterReading {
  std::size_t first = 0;
  std::size_t last = 0;
  double instructions = 0;
  double cycles = 0;
  double stall_cycles = 0;
  // Of the link that most lines passed in all of the trace.
  bool lines_told = false;
  double lines_read = 0;
  double lines_written = 0;
};

/// Of the CPU that most samples came from (elsewhere others work), or, where
/// nothing was counted there, of the whole machine; in time's order, with at
/// least `samples` samples each. Requires: a sorted trace.
std::vector<CounterReading> counter_readings(const Trace& trace,
                                             std::size_t samples);

}  // namespace thermocline
