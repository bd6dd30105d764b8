// SequenceRun: accesses that were recorded one after the other, run through a
// core (core.h) as if their data lay elsewhere.
//
// Order, addresses and what is executed in between are the job's own; what
// prefetchers make of them follows (prefetcher.h). What is not told is who
// waits for whom: of some loads the next access needs the result, how many is
// learned (sequence_fit.h). What a cache had without having been fetched ahead
// here costs nothing.
//
// Deterministic. Thread safety: none; one for each thread. Units: nanoseconds.
#pragma once

#include <span>
#include <vector>

#include "estimator/core.h"
#include "estimator/ordered_access.h"
#include "estimator/prefetcher.h"

namespace thermocline {

class SequenceRun {
 public:
  /// How accesses of each class are made; of a shape are used: whether it
  /// stores, what it computes, what is needed, and links and latencies of a
  /// line. `seen` is by class, of accesses that missed where they were
  /// recorded; empty: not wanted. Both outlive it.
  explicit SequenceRun(std::span<const AccessShape> shapes,
                       std::span<SeenAccesses> seen = {});

  void add(const OrderedAccess& access, std::size_t tier);
  /// Time so far.
  double now() const { return core_.now(); }

 private:
  double fetch(const OrderedAccess& access, std::size_t tier);

  std::span<const AccessShape> shapes_;
  std::span<SeenAccesses> seen_;
  Core core_;
  Prefetcher prefetcher_;
  std::vector<double> needed_;  // by class, carried over
  double result_at_ = 0;        // the next access waits for it
  std::size_t result_of_ = 0;
};

}  // namespace thermocline
