// Core: the clock of an out-of-order core beside several kinds of memory.
//
// It is built as processors of the last ten years are:
// - a window of 256 instructions retires in order: what is behind a miss waits
//   for it as soon as the window is full;
// - ten loads are in flight; stores are posted, through 56 entries, in order,
//   and the lines of ten are fetched at a time;
// - each tier's link carries line after line, in the order of asking; before a
//   line takes its place another leaves, of any class, which may go back; with
//   32 on their way out none comes in.
// The figures are those of Intel's servers (Optimization manual: line fill
// buffers and store buffer of Skylake-SP, a window between its 224 and Ice
// Lake-SP's 352 entries; queues between a server core's second cache and memory
// have 16 to 48).
//
// What the core executes is another's: of a job's samples in any order
// (core_run.h), or of accesses that were recorded one after the other
// (sequence_run.h).
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

class Core {
 public:
  /// `seen`: by shape; empty: not wanted. Shapes outlive it.
  Core(std::span<const AccessShape> shapes, std::span<SeenAccesses> seen)
      : shapes_(shapes), seen_(seen) {}

  double now() const { return now_; }
  /// Computes, beside loads in flight. In order: what is a window behind must
  /// have come.
  void work(double ns, double instructions);
  /// An access of that shape needs what comes then.
  void wait_until(double time, std::size_t shape);

  // Each asks for a line now and returns when it comes.
  /// Another leaves for it.
  double fetch(std::size_t shape, std::size_t tier, double not_before = 0);
  /// Nobody waits for it, and it takes nobody's place before it is asked for.
  double fetch_ahead(std::size_t shape, std::size_t tier);
  /// Through a fill buffer, of which there are ten.
  double fill(std::size_t shape, std::size_t tier);
  double load(std::size_t shape, std::size_t tier);
  double store(std::size_t shape, std::size_t tier);
  /// A line that comes at `done` takes a fill buffer until then.
  void hold_fill_buffer(std::size_t shape, double done);
  /// Of a line that was fetched ahead and comes at `done`: it takes its place.
  double load_fetched(std::size_t shape, std::size_t tier, double done);
  double store_fetched(std::size_t shape, std::size_t tier, double done);
  /// The line that came last will be written: all of it goes back.
  void write(std::size_t tier);

  /// The load has been issued: in order, it retires when its line has come.
  void issue_load(std::size_t shape, double done);
  /// Until another store may be posted.
  void await_store_buffer(std::size_t shape);
  /// The store has been posted.
  void post(double done);

 private:
  static constexpr std::size_t kFills = 10;
  static constexpr std::size_t kStores = 56;
  static constexpr std::size_t kStoreFills = 10;
  static constexpr std::size_t kFlights = 64;
  static constexpr std::size_t kCached = 64;
  static constexpr double kGoingBack = 32;

  struct Flight {  // a load on its way
    double done = 0;
    double at = 0;  // instructions
    std::size_t shape = 0;
  };
  struct Buffer {  // of a line that a load waits for
    double free = 0;
    std::size_t shape = 0;
  };
  struct Line {          // in the cache
    double back_ns = 0;  // for which it will hold the link when it leaves
    std::size_t shape = 0;
    std::size_t tier = 0;
  };

  double pass(std::size_t shape, std::size_t tier, double not_before);
  double push_out(std::size_t shape, std::size_t tier);
  Buffer& free_fill_buffer();
  double fills_store(double done);

  std::span<const AccessShape> shapes_;
  std::span<SeenAccesses> seen_;
  double now_ = 0;
  double instructions_ = 0;
  ByTier link_free_{};
  std::array<Buffer, kFills> buffers_{};
  std::array<double, kStores> stores_{};  // a ring
  std::size_t store_ = 0;
  double drained_ = 0;
  std::array<double, kStoreFills> fills_{};  // a ring
  std::size_t fill_ = 0;
  std::array<Flight, kFlights> flights_{};  // a ring, in program order
  std::size_t flights_begin_ = 0;
  std::size_t flights_end_ = 0;
  std::array<Line, kCached> cached_{};
  std::size_t newest_ = 0;        // of them
  std::uint32_t leaves_ = 12345;  // which of them, at random
};

}  // namespace thermocline
