#include "training/checkpoint_interval.h"

#include <algorithm>
#include <cmath>

#include "traces/result.h"

namespace thermocline {
namespace {

constexpr std::int64_t kStretch = 2;  // CheckFreq's
constexpr int kCalmWindows = 4;
constexpr std::size_t kRecentSaves = 8;
constexpr double kLeastSlowdown = 0.0001;

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

// Requires: not empty.
double median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

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

CheckpointInterval::CheckpointInterval(const IntervalOptions& options)
    : options_(options) {
  // So written that it takes what is no number, too.
  if (!(options_.most_slowdown >= kLeastSlowdown)) {
    options_.most_slowdown = kLeastSlowdown;
  }
  options_.profile = std::max<std::int64_t>(options_.profile, 1);
}

std::int64_t CheckpointInterval::shortest() const {
  // One save is under way at a time here: BackgroundSaver waits for the last.
  return std::max({checkfreq_interval(costs_),
                   pccheck_interval(costs_, 1, 1 + options_.most_slowdown),
                   slowdown_interval(costs_, options_.most_slowdown)});
}

// By a whole window, a save and all that it disturbed included.
void CheckpointInterval::adapt() {
  const double trained_s =
      costs_.iteration_s * static_cast<double>(since_save_);
  const double excess_s = window_s_ - trained_s;
  if (excess_s > options_.most_slowdown * trained_s) {
    interval_ += kStretch;
    calm_ = 0;
    calm_excess_s_ = 0;
    return;
  }
  calm_excess_s_ = std::max(calm_excess_s_, excess_s);
  if (++calm_ < kCalmWindows) return;
  const std::int64_t shorter = interval_ - 1;
  if (shorter >= shortest() &&
      calm_excess_s_ <= options_.most_slowdown * costs_.iteration_s *
                            static_cast<double>(shorter)) {
    interval_ = shorter;
  }
  calm_ = 0;
  calm_excess_s_ = 0;
}

bool CheckpointInterval::after_iteration(double seconds) {
  if (costs_.iteration_s == 0) {
    if (!is_time(seconds)) return false;
    profiled_s_.push_back(seconds);
    if (profiled_s_.size() < static_cast<std::size_t>(options_.profile)) {
      return false;
    }
    // Never 0, for a clock may be coarse.
    costs_.iteration_s = std::max(median(std::move(profiled_s_)), 1e-9);
  } else {
    ++since_save_;
    window_s_ += is_time(seconds) ? seconds : costs_.iteration_s;
    if (under_way_ || since_save_ < interval_) return false;
    if (interval_ > 0) adapt();
  }
  since_save_ = 0;
  window_s_ = 0;
  under_way_ = true;
  return true;
}

void CheckpointInterval::saved(double snapshot_s, double full_s) {
  under_way_ = false;
  recent_.push_back({.snapshot_s = is_time(snapshot_s) ? snapshot_s : 0,
                     .full_s = is_time(full_s) ? full_s : 0});
  if (recent_.size() > kRecentSaves) recent_.pop_front();
  costs_.snapshot_s = costs_.full_s = 0;
  for (const auto& one : recent_) {
    costs_.snapshot_s = std::max(costs_.snapshot_s, one.snapshot_s);
    costs_.full_s = std::max(costs_.full_s, one.full_s);
  }
  costs_.worst_write_s = costs_.full_s;
  interval_ = std::max(interval_, shortest());
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
