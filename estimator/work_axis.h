// WorkAxis: how much of a job's work was done by when.
//
// Wall time cannot align runs of different speed. The axis is instructions of
// the CPU with the most samples where all runs have counters of it (a sum over
// CPUs would count the daemon and idle loops), else the index of the sampled
// access.
//
// Thread safety: plain values, pure functions. Times are of each trace's own
// clock.
#pragma once

#include <span>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

// A polyline that never falls.
struct WorkAxis {
  struct Point {
    Nanos time;
    double work;
  };
  std::vector<Point> points;  // at least two
  bool by_access = false;     // work is a whole number of accesses

  /// Before the first and after the last point, that point's.
  double work_at(Nanos time) const;
  Nanos time_at(double work) const;
  double total() const { return points.back().work - points.front().work; }
  /// Share of all work done by then, 0 to 1.
  double share_at(Nanos time) const {
    return (work_at(time) - points.front().work) / total();
  }
};

/// One axis a run, all of one kind. Requires: sorted traces with samples.
std::vector<WorkAxis> work_axes(std::span<const Trace* const> runs);

}  // namespace thermocline
