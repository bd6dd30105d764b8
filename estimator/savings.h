// Savings: time that a mixed placement saves beyond what each object gains.
//
// Two links carry more than one. Where a job waits for bandwidth, its lines in
// fast memory pass while those in slow memory do: a group of 16 samples in a
// row takes as long as its slow part or its fast part, whichever is longer, and
// not their sum. So a placement may beat both endpoints. A class of accesses
// waits for bandwidth if it is sequential, for a prefetcher hides its latency,
// and to the degree that its latency in the slow run is more than twice that of
// idle memory. (CAMP, ASPLOS 2026, models the same by a cubic in the share of
// pages.)
//
// Accesses that wait for one another (a chase) gain otherwise: what they queue
// behind the job's own lines shrinks with the lines on that link, so their
// queueing part goes with the square of the share.
//
// Of the endpoints nothing is saved, exactly. Only the fastest and the slowest
// tier are told apart; objects between them save nothing. What a group saves is
// a whole number of 1/256 ns, so that sums are exact in any order.
//
// Thread safety: const after construction. Units: nanoseconds. Memory: 24 bytes
// a sample, and 4 for each object of a group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/benefits.h"
#include "traces/types.h"

namespace thermocline {

// A sample of the slow run, and what it cost there and in the fast run.
struct SavingSample {
  ObjectId object = 0;
  float slow_ns = 0;  // waiting for bandwidth
  float fast_ns = 0;
  float slow_queue_ns = 0;  // queueing of what waits for one another
  float fast_queue_ns = 0;
  float link = 0;  // load on the link, in any unit
};

class Savings {
 public:
  /// Samples must come window after window, each in order of time. Samples of
  /// memory that is not placed are not told.
  void add(const SavingSample& sample) { samples_.push_back(sample); }
  void end_window();
  /// After the last window: lists the groups that each object is in.
  void index(std::size_t objects);

  /// Time saved in window w. `tier` of each object: 0 is the fastest.
  double saved_ns(std::size_t w, std::span<const TierId> placement,
                  TierId slowest) const;
  /// In all windows. Cost: O(samples).
  FineNanos saved(std::span<const TierId> placement, TierId slowest) const;

  /// Group by group, for whoever follows moves.
  std::size_t groups() const { return groups_.size(); }
  FineNanos saved_in(std::size_t group, std::span<const TierId> placement,
                     TierId slowest) const;
  std::span<const std::uint32_t> groups_of(ObjectId object) const;

 private:
  std::vector<SavingSample> samples_;
  std::vector<std::size_t> groups_;   // where each ends in samples_
  std::vector<std::size_t> windows_;  // where each ends in groups_
  std::vector<std::size_t> first_;    // of each object, in in_; and the end
  std::vector<std::uint32_t> in_;     // groups, object by object
};

}  // namespace thermocline
