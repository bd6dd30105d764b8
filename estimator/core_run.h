// CoreRun: how long an out-of-order core takes for a mixture of accesses to
// memory of several tiers.
//
// Accesses of different tiers take neither the sum of their times nor the
// longest: two links carry more than one, a slow miss holds up the fast ones
// behind it, and what waits for one miss no longer waits in a queue for
// another. So a few thousand accesses are run through a core as processors of
// the last ten years are built:
// - a window of 256 instructions retires in order: what is behind a miss waits
//   for it as soon as the window is full;
// - ten loads are in flight; stores are posted, through 56 entries, in order;
// - each tier's link carries line after line, in the order of asking; before a
//   line takes its place another leaves, of any class, which may go back;
// - lines read in order are fetched ahead, up to 20, twice as many as were
//   read of the page, and never beyond its end;
// - of some loads the next access needs the result;
// - accesses may come several together, some instructions apart, and computing
//   between.
// What a job's accesses are like (AccessShape) is learned from its two runs
// (shape_fit.h). The figures are those of Intel's servers (Optimization
// manual: line fill buffers, store buffer and streamer of Skylake-SP, a window
// between its 224 and Ice Lake-SP's 352 entries).
//
// Deterministic: the same calls give the same times.
// Thread safety: none; one for each thread. Units: nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "estimator/access_shape.h"

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
  double now() const { return now_; }
  double accesses() const { return accesses_; }

 private:
  static constexpr std::size_t kLoads = 10;
  static constexpr std::size_t kStores = 56;
  static constexpr std::size_t kFlights = 64;
  static constexpr int kPageLines = 64;
  static constexpr std::size_t kCached = 64;

  struct Flight {  // a load on its way
    double done = 0;
    double at = 0;  // instructions
    std::size_t shape = 0;
  };
  struct Buffer {  // of a load
    double free = 0;
    std::size_t shape = 0;
  };
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
  struct Line {          // in the cache
    double back_ns = 0;  // for which it will hold the link when it leaves
    std::size_t tier = 0;
  };

  void burst(std::size_t shape);
  void work(double ns, double instructions);
  double fetch(const AccessShape& shape, std::size_t tier);
  double load(std::size_t shape, std::size_t tier);
  double stream(std::size_t shape, std::size_t tier);
  void wait_until(double time, std::size_t shape);
  Buffer& free_load_buffer();
  double take_load_buffer(std::size_t shape, std::size_t tier);
  void post(double done, std::size_t shape);

  const AccessModel& model_;
  std::span<SeenAccesses> seen_;
  std::vector<Progress> progress_;
  double now_ = 0;
  double instructions_ = 0;
  std::size_t gathered_ = 0;  // accesses whose computing is still to come
  double owed_ns_ = 0;
  double owed_instructions_ = 0;
  double result_at_ = 0;  // the next access waits for it
  std::size_t result_of_ = 0;
  double accesses_ = 0;
  ByTier link_free_{};
  std::array<Buffer, kLoads> loads_{};
  std::array<double, kStores> stores_{};  // a ring
  std::size_t store_ = 0;
  double drained_ = 0;
  std::array<Flight, kFlights> flights_{};  // a ring, in program order
  std::size_t flights_begin_ = 0;
  std::size_t flights_end_ = 0;
  std::uint32_t random_ = 12345;
  std::array<Line, kCached> cached_{};
  std::uint32_t leaves_ = 12345;  // which of them, at random
};

}  // namespace thermocline
