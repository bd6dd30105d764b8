// Savings: time that a mixed placement saves beyond what each object gains.
//
// What two objects gain is no sum where their accesses overlap. The samples of
// the slow run are taken in stretches of 256 in a row, and each stretch is run
// through a core with two links (mixed_run.h): all slow, all fast, and as
// placed. Where between the two the placed run lies is how much of the
// stretch's gain is left; what its objects' own gains come to beyond that is
// saved, or lost. (CAMP, ASPLOS 2026, models the bandwidth's part of it by a
// cubic in the share of pages.)
//
// Of the endpoints nothing is saved, exactly. Only the fastest and the slowest
// tier are told apart; objects between them save nothing. What a stretch saves
// is a whole number of 1/256 ns, so that sums are exact in any order. It may be
// less than nothing: accesses that hold each other up cost more than their sum.
//
// Thread safety: const after construction. Units: nanoseconds. Memory: 8 bytes
// a sample, 48 a stretch, and 4 for each object of a stretch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/benefits.h"
#include "estimator/core_run.h"
#include "traces/types.h"

namespace thermocline {

// What a sample of a class takes, as a part of the whole run.
struct SampleTime {
  double slow_ns = 0;
  double fast_ns = 0;
};

class Savings {
 public:
  Savings() = default;
  /// By class, what its samples take, how its accesses are made, and in which
  /// company. Requires: at most 2^16 classes.
  Savings(std::vector<SampleTime> times, std::vector<AccessShape> shapes,
          std::vector<std::uint32_t> company)
      : times_(std::move(times)),
        shapes_(std::move(shapes)),
        company_(std::move(company)) {}

  /// Samples of the slow run must come window after window, each in order of
  /// time. Samples of memory that is not placed are not told.
  void add(ObjectId object, std::size_t kind) {
    samples_.push_back(
        {static_cast<std::uint32_t>(object), static_cast<std::uint16_t>(kind)});
  }
  /// Ends a window, in which samples took so many times their kind's mean.
  void end_window(double slow_scale, double fast_scale);
  /// After the last window: lists the stretches that each object is in.
  void index(std::size_t objects);

  /// Time saved in window w. `tier` of each object: 0 is the fastest.
  double saved_ns(std::size_t w, std::span<const TierId> placement,
                  TierId slowest) const;
  /// In all windows. Cost: a core run of 16 accesses a sample, on all cores.
  FineNanos saved(std::span<const TierId> placement, TierId slowest) const;

  /// Stretch by stretch, for whoever follows moves.
  std::size_t stretches() const { return stretches_.size(); }
  FineNanos saved_in(std::size_t stretch, std::span<const TierId> placement,
                     TierId slowest) const;
  std::span<const std::uint32_t> stretches_of(ObjectId object) const;

 private:
  struct Placeable {  // a sample
    std::uint32_t object = 0;
    std::uint16_t kind = 0;
  };
  struct Stretch {
    std::size_t first = 0;  // in samples_
    std::size_t last = 0;
    double slow_scale = 1;
    double fast_scale = 1;
    double slow_run = 0;  // of a core, an access
    double fast_run = 0;
  };
  // Nanoseconds an access. `place(sample)`: 0 fast, 1 slow, less: left out.
  template <typename Place>
  double core_run(const Stretch& stretch, Place place) const;

  std::vector<SampleTime> times_;
  std::vector<AccessShape> shapes_;
  std::vector<std::uint32_t> company_;
  std::vector<Placeable> samples_;
  std::vector<Stretch> stretches_;
  std::vector<std::size_t> windows_;  // where each ends in stretches_
  std::vector<std::size_t> first_;    // of each object, in in_; and the end
  std::vector<std::uint32_t> in_;     // stretches, object by object
};

}  // namespace thermocline
