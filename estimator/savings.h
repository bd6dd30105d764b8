// Savings: time that a mixed placement saves beyond what each object gains.
//
// What two objects gain is no sum where their accesses overlap. The samples of
// the slow run are taken in groups of 16 in a row, so many as are near enough
// in time to overlap, and each group takes what group_time.h makes of the tiers
// that its samples lie in. (CAMP, ASPLOS 2026, models the bandwidth's part of
// it by a cubic in the share of pages.)
//
// Of the endpoints nothing is saved, exactly. Only the fastest and the slowest
// tier are told apart; objects between them save nothing. What a group saves is
// a whole number of 1/256 ns, so that sums are exact in any order. It may be
// less than nothing: accesses that hold each other up cost more than their sum.
//
// Thread safety: const after construction. Units: nanoseconds. Memory: 8 bytes
// a sample, and 4 for each object of a group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/benefits.h"
#include "estimator/group_time.h"
#include "traces/types.h"

namespace thermocline {

class Savings {
 public:
  Savings() = default;
  /// Requires: at most 2^16 kinds.
  explicit Savings(std::vector<SampleKind> kinds) : kinds_(std::move(kinds)) {}

  /// Samples of the slow run must come window after window, each in order of
  /// time. Samples of memory that is not placed are not told.
  void add(ObjectId object, std::size_t kind) {
    samples_.push_back(
        {static_cast<std::uint32_t>(object), static_cast<std::uint16_t>(kind)});
  }
  /// Ends a window, in which samples took so many times their kind's mean.
  void end_window(double slow_scale, double fast_scale);
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
  struct Placeable {  // a sample
    std::uint32_t object = 0;
    std::uint16_t kind = 0;
  };
  struct Group {
    std::size_t last = 0;  // where it ends in samples_
    double slow_scale = 1;
    double fast_scale = 1;
  };

  std::vector<SampleKind> kinds_;
  std::vector<Placeable> samples_;
  std::vector<Group> groups_;
  std::vector<std::size_t> windows_;  // where each ends in groups_
  std::vector<std::size_t> first_;    // of each object, in in_; and the end
  std::vector<std::uint32_t> in_;     // groups, object by object
};

}  // namespace thermocline
