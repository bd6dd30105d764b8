#include "training/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

#include "traces/result.h"

namespace thermocline {
namespace {

std::int64_t at_least_one(double iterations) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(std::min(iterations, 1e12))));
}

}  // namespace

std::int64_t checkfreq_interval(const CheckpointCosts& costs) {
  CHECK(costs.iteration_s > 0);
  return at_least_one((costs.full_s - costs.snapshot_s) / costs.iteration_s);
}

std::int64_t pccheck_interval(const CheckpointCosts& costs, int at_once,
                              double budget) {
  CHECK(costs.iteration_s > 0 && at_once > 0 && budget >= 1);
  return at_least_one(costs.worst_write_s /
                      (at_once * budget * costs.iteration_s));
}

std::int64_t slowdown_interval(const CheckpointCosts& costs,
                               double most_slowdown) {
  CHECK(costs.iteration_s > 0 && most_slowdown > 0);
  return at_least_one(costs.snapshot_s / (most_slowdown * costs.iteration_s));
}

void CheckpointInterval::choose() {
  // One save is under way at a time here: BackgroundSaver waits for the last.
  interval_ = std::max({checkfreq_interval(costs_),
                        pccheck_interval(costs_, 1, 1 + options_.most_slowdown),
                        slowdown_interval(costs_, options_.most_slowdown)});
}

bool CheckpointInterval::after_iteration(double seconds) {
  if (seen_ < options_.profile) {
    ++seen_;
    profiled_s_ += seconds;
    if (seen_ < options_.profile) return false;
    // Never 0, for a clock may be coarse.
    costs_.iteration_s =
        std::max(profiled_s_ / static_cast<double>(seen_), 1e-9);
    since_save_ = 0;
    window_s_ = 0;
    return true;  // the first save, to learn what one takes
  }
  ++since_save_;
  window_s_ += seconds;
  if (interval_ == 0 || since_save_ < interval_) return false;
  // Over the whole window, a save and all that it disturbed included.
  const double expected = costs_.iteration_s * static_cast<double>(since_save_);
  if (window_s_ > expected * (1 + options_.most_slowdown)) interval_ += 2;
  since_save_ = 0;
  window_s_ = 0;
  return true;
}

void CheckpointInterval::saved(double snapshot_s, double full_s) {
  costs_.snapshot_s = snapshot_s;
  costs_.full_s = full_s;
  costs_.worst_write_s = std::max(costs_.worst_write_s, full_s);
  if (interval_ == 0) choose();
}

CrashLoss expected_loss(const CheckpointCosts& costs, std::int64_t interval,
                        int at_once, double load_s) {
  CHECK(costs.iteration_s > 0 && interval > 0 && at_once > 0);
  CrashLoss out;
  out.lost_iterations = static_cast<double>(interval) / 2 +
                        at_once * costs.worst_write_s / costs.iteration_s;
  out.recovery_s = load_s + out.lost_iterations * costs.iteration_s;
  return out;
}

}  // namespace thermocline
