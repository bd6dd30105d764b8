// RateChanges: where a run's sample rate changes for good.
//
// Samples are counted in up to 200 bins of equal time, and the run is cut where
// that makes their Poisson likelihood highest, less a penalty of 3 log(bins) a
// cut: exact optimal partitioning (Jackson and others, 2005), which PELT
// (Killick, Fearnhead, Eckley, 2012) prunes; so few bins need no pruning. The
// counts may be more uneven than chance (bursts, iterations): by how much is
// taken from neighbouring bins. We chose: a phase is at least a fiftieth of the
// run, and its rate at least twice or half its neighbours'.
//
// Thread safety: pure.
#pragma once

#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct RateChange {
  Nanos at = 0;       // samples up to and with this instant come before
  double factor = 1;  // between the rates before and after; at least 1
  double share = 0;   // of the run's time: the shorter of the two neighbours

  /// Too large and too long to be overlooked in another run of the job.
  bool clear() const { return factor >= 4 && share >= 0.1; }
};

/// In order of time. Requires: a sorted trace. Cost: O(samples).
std::vector<RateChange> rate_changes(const Trace& trace);

}  // namespace thermocline
