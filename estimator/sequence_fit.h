// Sequence fit: learns who waits for whom in a job whose accesses were recorded
// one after the other.
//
// Order, addresses and what is executed in between are told; of how many loads
// of each class the next access needs the result is not. It is chosen so that
// core runs of the job's own sequences (sequence_run.h), all slow and all fast,
// take the time of each run, that loads have the latencies that were sampled in
// it, and, where that is told, that the core waits for each class as long as
// was waited for it. One number for each class of loads; nothing is fitted on
// mixed placements.
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "estimator/access_shape.h"
#include "estimator/ordered_access.h"

namespace thermocline {

// What is known of a class in both runs: [0] the fast one, [1] the slow one.
struct MissTimes {
  std::array<double, 2> miss_ns{};     // of the job's time, for a miss
  std::array<Latencies, 2> latency{};  // of its loads; none: not told
  double samples = 0;                  // of the slow run
  double misses = 0;                   // that these stand for
  // What the core waited for a miss alone; below 0: not told.
  std::array<double, 2> waited_ns{-1, -1};
};

/// `shapes` with what was found. By class. Requires: as many shapes as times.
/// Cost: some tens of core runs of 12,000 accesses for each class of loads.
std::vector<AccessShape> fit_sequences(
    std::vector<AccessShape> shapes, std::span<const MissTimes> times,
    std::span<const OrderedSequence> sequences, std::size_t slowest);

}  // namespace thermocline
