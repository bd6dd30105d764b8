// ProbePace: how long a probe may take, shared out among its figures.
//
// The same passes over memory take a hundred times as long on one machine as on
// another: memory four times the caches is much where these are large, and
// others may have the CPUs. So no figure has a fixed number of passes. Each
// gets an equal share of the time that is left, goes through as much memory and
// repeats as often as fits, and leaves to the later ones what it does not use.
// What the limit cuts shows in the spread, and in figures that are left out.
// Thread safety: for the thread that measures; stop() from any.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "traces/result.h"

namespace thermocline {

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

class ProbePace {
 public:
  using Show = std::function<void(double share, const std::string& now)>;
  using Now = std::function<double()>;  // seconds, from any zero on

  /// The time begins to run. `stop`: true when the user gives up; outlives
  /// this. `show` is told each figure that begins. `now`: for tests.
  ProbePace(const std::atomic<bool>& stop, double limit_s, Show show = {},
            Now now = {});

  /// There will be figures of so much weight more.
  void plan(int weight);
  /// What begins from here on is about that place.
  void enter(const std::string& place) { place_ = place; }
  /// A figure, or what must be done for some. What takes several times as long
  /// as most has the larger weight.
  void begin(const std::string& what, int weight = 1);

  /// Seconds of the share of what has begun; less than 0 when it took more.
  double left_s() const { return until_ - now_(); }
  /// Seconds for one repeat of `repeats` and as many as `before` them: no more
  /// than wanted, and something even when there is no time.
  double repeat_s(double wanted_s, int repeats, int before = 0) const;
  /// Whether to measure once more, after `done` times, the last of which took
  /// `last_s`. Always once.
  bool again(int done, int repeats, double last_s) const;
  /// The limit is over: what can be left out is.
  bool late() const { return now_() >= end_; }
  double took_s() const { return now_() - start_; }

  const std::atomic<bool>& stop() const { return stop_; }
  /// Errors: kInterrupted when the user gave up.
  Status go_on() const;

  int planned() const { return planned_; }
  int begun() const { return begun_; }

 private:
  const std::atomic<bool>& stop_;
  Show show_;
  Now now_;
  double start_;
  double end_;    // of all
  double until_;  // of what has begun
  std::string place_;
  int planned_ = 0;
  int begun_ = 0;
};

}  // namespace thermocline
