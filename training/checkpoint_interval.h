// CheckpointInterval: how many iterations to let pass between two saves.
//
// Rare saves lose work in a crash, frequent ones slow the job down. After
// CheckFreq (FAST 2021): profile first, save as often as the writing keeps up,
// watch the overhead, and stretch the interval by 2 when it goes over its
// bound. After PCcheck (ASPLOS 2025) for N saves under way at once:
// f >= Tw / (N q t), with Tw the worst time of a write, t that of an iteration
// and q its budget. PCcheck gives q as a factor (1.03); it can only be the
// share beyond 1 that writing may take if it is to bound the slowdown, so we
// take `most_slowdown` for the time that training itself is held up, and the
// factor 1 + most_slowdown in PCcheck's formula, which bounds that writing
// keeps up. The costs are the worst of the last 8 saves, not of all: one slow
// save is forgotten. Both sources only ever stretch the interval. We shorten
// it, too, by one, when 4 windows in a row kept within the bound and the worst
// of them would have at the shorter interval, and never below what the formulas
// give for the costs as they are now. A job whose own iterations became slower
// looks held up by saves; it needs a new profile.
//
// Of the profile the median counts: a job's first iterations, which take memory
// for the first time, would make all others look fast, and hide what saves
// cost.
//
// Nobody waits for a save: while one is under way, none is due.
//
// Thread safety: pure functions; the class is a plain value.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "traces/types.h"

namespace thermocline {

// What one job on one pool takes, measured.
struct CheckpointCosts {
  double iteration_s = 0;  // without saves
  double snapshot_s = 0;   // of a save, what training waits for
  double full_s = 0;       // of a save, until it is durable
  double worst_write_s = 0;
};

/// CheckFreq: one save under way, the next may begin when it is durable.
/// Returns: at least 1. Requires: iteration_s > 0.
std::int64_t checkfreq_interval(const CheckpointCosts& costs);

/// PCcheck: N saves under way. Returns: at least 1. Requires: iteration_s > 0,
/// at_once > 0, budget >= 1.
std::int64_t pccheck_interval(const CheckpointCosts& costs, int at_once,
                              double budget);

/// The fewest iterations between saves that hold training up by no more than
/// this share of its time, snapshots alone. Requires: most_slowdown > 0.
std::int64_t slowdown_interval(const CheckpointCosts& costs,
                               double most_slowdown);

// Of a share below 0.0001, or that is no number, 0.0001 is taken: saves cannot
// be free. Of a profile below 1, 1.
struct IntervalOptions {
  double most_slowdown = 0.03;
  std::int64_t profile = 20;  // iterations without saves that are measured
  std::int64_t slots = 3;     // of the pool; N is one less
  void fields(auto& f) {
    f("most_slowdown", most_slowdown, 0.0001, 1.0,
      "share of the training time that saves may cost");
    f("profile", profile, std::int64_t{1}, std::int64_t{10000},
      "iterations to measure before the first save");
    f("slots", slots, std::int64_t{2}, std::int64_t{64}, "slots of the pool");
  }
};

class CheckpointInterval {
 public:
  explicit CheckpointInterval(const IntervalOptions& options);

  /// Call at the end of each iteration, with what it took (a save that began
  /// in it included). A time below 0 or that is no finite number is a broken
  /// clock's: the profile leaves it out, and later the iteration counts with
  /// the profile's time. Returns: whether to save now; then saved() or failed()
  /// is to follow, and it is false until one of them has.
  bool after_iteration(double seconds);
  /// Call when a save has been durable (BackgroundSaver::finished() tells):
  /// what training waited for it, and what it took in all (a broken clock's
  /// times count as 0).
  void saved(double snapshot_s, double full_s);
  /// Call when it was not, and the job goes on all the same: one is due again
  /// after the interval, or at once where none is known yet.
  void failed() { under_way_ = false; }

  /// Iterations from one save to the next; 0 while profiling.
  std::int64_t interval() const { return interval_; }
  const CheckpointCosts& costs() const { return costs_; }

 private:
  std::int64_t shortest() const;
  void adapt();

  IntervalOptions options_;
  CheckpointCosts costs_;  // the worst of recent_
  std::deque<CheckpointCosts> recent_;
  std::vector<double> profiled_s_;  // iterations
  std::int64_t interval_ = 0;
  std::int64_t since_save_ = 0;
  double window_s_ = 0;  // since the last save
  bool under_way_ = false;
  int calm_ = 0;              // windows in a row within the bound
  double calm_excess_s_ = 0;  // the most that one of them took beyond training
};

// What a crash costs, in the mean.
struct CrashLoss {
  double lost_iterations = 0;  // to be computed again
  double recovery_s = 0;       // those, and loading
};
/// PCcheck section 4: half an interval, and what was still under way.
CrashLoss expected_loss(const CheckpointCosts& costs, std::int64_t interval,
                        int at_once, double load_s);

}  // namespace thermocline
