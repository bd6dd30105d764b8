// Link readings: the lines that passed a tier's link between two readings of a
// memory controller's counters, beside the samples taken meanwhile.
//
// Thread safety: a pure function.
#pragma once

#include <cstddef>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

// Samples of the trace from `first` up to `last`, and lines of that time.
struct LinkReading {
  std::size_t first = 0;
  std::size_t last = 0;
  double read = 0;
  double written = 0;
};

/// Of the link that most lines passed, as counted beside the CPU that most
/// samples came from (elsewhere others work), in time's order, with at least
/// `samples` samples each. Empty where the trace counts no lines. Requires: a
/// sorted trace.
std::vector<LinkReading> link_readings(const Trace& trace, std::size_t samples);

}  // namespace thermocline
