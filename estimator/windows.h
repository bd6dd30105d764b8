// Windows: cuts two traces of one job into windows that hold the same work.
//
// Wall time cannot align two runs of different speed, and a job whose phases
// gain differently cannot be cut by shares of its time. The axis is work done:
// instructions of the CPU with the most samples when both traces have counters
// of it (a sum over CPUs would count the daemon and idle loops), else the
// index of the sampled access. Marks that both runs passed in the same order
// ("step 3") pin the axis: no window spans one, unless there are more marks
// than windows; then evenly many are kept.
//
// Sources: the need for phases before windows is measured on the miniFE pair
// of Denoyelle et al. (set-up 1.0x, solver 3.0x).
//
// Thread safety: pure functions. Times are of each trace's own clock.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct WindowCuts {
  // windows + 1 instants, never decreasing: the first is the job's start, the
  // last is start plus measured run time, so that the windows' lengths sum to
  // the run time exactly. What lies before the first or after the last known
  // point of work belongs to the first or last window.
  std::vector<Nanos> at;
  // The window of each sample of the trace.
  std::vector<std::uint32_t> of_sample;
};

/// Cuts both traces into `windows` matching windows. Requires: sorted traces
/// with samples; windows >= 1. Cost: O((samples + counters) + windows log).
std::pair<WindowCuts, WindowCuts> cut_pair(const Trace& a, const Trace& b,
                                           std::size_t windows);

/// Cuts one trace, by the same rules.
WindowCuts cut_one(const Trace& trace, std::size_t windows);

}  // namespace thermocline
