#include "daemon/slowdown_watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace thermocline {
namespace {

constexpr int kMostDoublings = 6;
constexpr double kNoise = 3;          // standard errors that are no chance
constexpr std::int64_t kLongest = 8;  // spans

}  // namespace

SlowdownWatch::Memory SlowdownWatch::memory() const {
  const Pace pace = before_.value_or(Pace{});
  return {left_, doublings_, sampled_, pace.mean, pace.deviation, pace.windows};
}

void SlowdownWatch::recall(const Memory& memory) {
  if (options_.drop <= 0) return;
  if (memory.doublings >= 0 && memory.doublings <= kMostDoublings) {
    doublings_ = static_cast<int>(memory.doublings);
  }
  // Without what it is to be compared with there is no rest to judge.
  const bool known = std::isfinite(memory.mean) && memory.mean > 0 &&
                     memory.windows >= 1 && std::isfinite(memory.windows) &&
                     memory.deviation >= 0 && std::isfinite(memory.deviation);
  if (!known || memory.left <= 0) return;
  sampled_ = memory.sampled;
  before_ = Pace{memory.mean, memory.deviation, memory.windows};
  left_ = std::min(memory.left, options_.rest << kMostDoublings);
}

// Requires: as many windows, at least one.
SlowdownWatch::Pace SlowdownWatch::pace(std::int64_t last) const {
  const auto count = static_cast<double>(last);
  const auto first = rates_.end() - last;
  const double mean = std::accumulate(first, rates_.end(), 0.0) / count;
  double squares = 0;
  for (auto at = first; at != rates_.end(); ++at) {
    squares += (*at - mean) * (*at - mean);
  }
  return {mean, std::sqrt(squares / std::max(1.0, count - 1)), count};
}

// By how much the two may differ if nothing has changed.
double SlowdownWatch::chance(const Pace& now) const {
  return kNoise * std::max(before_->deviation, now.deviation) *
         std::sqrt(1 / before_->windows + 1 / now.windows);
}

void SlowdownWatch::end_window(const Window& window) {
  if (options_.drop <= 0 || options_.span < 1) return;
  if (sampled_ && window.operators > 0) {  // a better witness has appeared
    sampled_ = false;
    rates_.clear();
    before_.reset();
    left_ = 0;
  }
  if (window.moved && since_move_ >= options_.span && !holding()) {
    const std::int64_t known = std::ssize(rates_);
    before_.reset();
    if (known >= options_.span) before_ = pace(std::min(known, since_move_));
    rates_.clear();
  }
  since_move_ = window.moved ? 0 : since_move_ + 1;
  rates_.push_back(sampled_ ? window.accesses : window.operators);
  if (std::ssize(rates_) > kLongest * options_.span) rates_.pop_front();
  if (holding()) {
    if (--left_ == 0) judge_rest();
  } else if (since_move_ >= options_.span) {
    before_.reset();  // nothing was moved for so long: not our doing
  } else if (before_) {
    compare();
  }
}

void SlowdownWatch::compare() {
  const std::int64_t known = std::ssize(rates_);
  for (auto last = options_.span; last <= known; last *= 2) {
    const Pace now = pace(last);
    const double lost = before_->mean - now.mean;
    if (lost > drop() * before_->mean && lost > chance(now)) {
      ++holds_;
      left_ = options_.rest << doublings_;
      rates_.clear();
      return;
    }
    // Faster than before, or as fast in more windows.
    const bool longer = now.windows > before_->windows;
    if (-lost > (longer ? 0 : chance(now))) before_ = now;
  }
}

void SlowdownWatch::judge_rest() {
  if (pace(std::ssize(rates_)).mean >= (1 - drop() / 2) * before_->mean) {
    ++blamed_;
    doublings_ = std::min(doublings_ + 1, kMostDoublings);
  } else {
    doublings_ = 0;
    before_.reset();
  }
  since_move_ = options_.span;
}

}  // namespace thermocline
