// Windows: cuts the traces of one job into windows that hold the same work.
//
// Wall time cannot align two runs of different speed, and a job whose phases
// gain differently cannot be cut by shares of its time. So runs are cut by work
// done (work_axis.h), and first at the bounds of their phases (phases.h): no
// window spans one; each phase has a window at least, the rest go by work.
// Marks within a phase ("step 3") pin the axis as well: no window spans one,
// unless the phase has more marks than windows; then evenly many are kept.
//
// Sources: the need for phases before windows is measured on the miniFE pair
// of Denoyelle et al. (set-up 1.0x, solver 3.0x).
//
// Thread safety: pure functions. Times are of each trace's own clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/phases.h"
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

struct RunCuts {
  std::vector<WindowCuts> runs;
  // Where each phase ends: one past its last window.
  std::vector<std::size_t> phase_ends;
};

/// Cuts runs of one job into `windows` matching windows, or as many as there
/// are phases, if these are more. Requires: sorted traces with samples, whose
/// phases these are; windows >= 1. Cost: O((samples + counters) + windows log).
RunCuts cut_runs(std::span<const Trace* const> runs, const Phases& phases,
                 std::size_t windows);

}  // namespace thermocline
