#include "daemon/slowdown_watch.h"

#include <algorithm>
#include <numeric>

namespace thermocline {
namespace {

constexpr int kMostDoublings = 6;

}  // namespace

double SlowdownWatch::mean() const {
  return std::accumulate(rates_.begin(), rates_.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(1, rates_.size()));
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
    const bool known =
        static_cast<std::int64_t>(rates_.size()) == options_.span;
    before_ = known ? std::optional<double>(mean()) : std::nullopt;
    rates_.clear();
  }
  since_move_ = window.moved ? 0 : since_move_ + 1;
  rates_.push_back(sampled_ ? window.accesses : window.operators);
  if (static_cast<std::int64_t>(rates_.size()) > options_.span) {
    rates_.pop_front();
  }
  if (holding()) {
    if (--left_ == 0) judge_rest();
    return;
  }
  const bool full = static_cast<std::int64_t>(rates_.size()) == options_.span;
  if (!full || !before_) return;
  const double drop = sampled_ ? options_.sampled_drop : options_.drop;
  if (since_move_ >= options_.span) {
    before_.reset();  // nothing was moved for so long: not our doing
  } else if (mean() < (1 - drop) * *before_) {
    ++holds_;
    left_ = options_.rest << doublings_;
    rates_.clear();
  } else {
    before_ = std::max(*before_, mean());
  }
}

void SlowdownWatch::judge_rest() {
  const double drop = sampled_ ? options_.sampled_drop : options_.drop;
  if (mean() >= (1 - drop / 2) * *before_) {
    ++blamed_;
    doublings_ = std::min(doublings_ + 1, kMostDoublings);
  } else {
    doublings_ = 0;
    before_.reset();
  }
  since_move_ = options_.span;
}

}  // namespace thermocline
