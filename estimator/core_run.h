// CoreRun: how long an out-of-order core takes for a mixture of accesses to
// memory of several tiers.
//
// Accesses of different tiers take neither the sum of their times nor the
// longest: two links carry more than one, a slow miss holds up the fast ones
// behind it, and what waits for one miss no longer waits in a queue for
// another. So a few thousand accesses are run through a core (core.h):
// - lines read in order are fetched ahead, up to 20, twice as many as were
//   read of the page, and never beyond its end;
// - of some loads the next access needs the result;
// - accesses may come several together, some instructions apart, and computing
//   between.
// What a job's accesses are like (AccessShape) is learned from its two runs
// (shape_fit.h). The prefetcher is Intel's streamer (Optimization manual). Any
// number of stores' lines is fetched at a time, and of others may go back
// (AccessShape::back_ns is 0).
//
// Deterministic: the same calls give the same times.
// Thread safety: none; one for each thread. Units: nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "estimator/core.h"

namespace thermocline {

// One account of how all of them are made.
struct AccessModel {
  std::vector<AccessShape> shapes;  // by class
  std::size_t together = 1;         // accesses of any class before computing
  double apart = 0;   // instructions from one of these to the next
  double weight = 1;  // in the mean of several accounts
};

// A sample of such accesses, and where they lie.
struct Step {
  std::uint16_t shape = 0;
  std::uint16_t tier = 0;  // less than kMostLinks
};

class CoreRun {
 public:
  /// `model` outlives it. `seen` is by shape; empty: not wanted.
  explicit CoreRun(const AccessModel& model, std::span<SeenAccesses> seen = {});

  /// So many passes over the steps, each in another order.
  void run(std::span<Step> steps, int passes);
  /// Time so far.
  double now() const { return core_.now(); }
  double accesses() const { return accesses_; }

 private:
  static constexpr int kPageLines = 64;

  struct Cursor {                            // of one stream
    std::array<double, kPageLines> ready{};  // by line of the page
    int line = 0;                            // of the page, the next
    int fetched = 0;                         // the furthest
  };
  struct Progress {  // of one shape
    std::vector<Cursor> cursors;
    std::size_t turn = 0;                            // which of them is next
    double needed = 0.5;                             // carried over
    double owed = 0.5;                               // accesses, carried over
    std::array<std::uint8_t, kMostBurst> waiting{};  // tiers of a burst to be
    std::size_t waits = 0;
  };
  void burst(std::size_t shape);
  double stream(std::size_t shape, std::size_t tier);

  const AccessModel& model_;
  std::span<SeenAccesses> seen_;
  Core core_;
  std::vector<Progress> progress_;
  std::size_t gathered_ = 0;  // accesses whose computing is still to come
  double owed_ns_ = 0;
  double owed_instructions_ = 0;
  double result_at_ = 0;  // the next access waits for it
  std::size_t result_of_ = 0;
  double accesses_ = 0;
  std::uint32_t random_ = 12345;
};

}  // namespace thermocline
