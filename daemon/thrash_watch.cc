#include "daemon/thrash_watch.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr int kMostDoublings = 6;

}  // namespace

ThrashWatch::Memory ThrashWatch::memory() const {
  return {state_, left_, share_before_, stopped_in_a_row_, acquitted_in_a_row_};
}

void ThrashWatch::recall(const Memory& memory) {
  const auto doublings = [](std::int64_t n) {
    return static_cast<int>(std::clamp<std::int64_t>(n, 0, kMostDoublings));
  };
  if (options_.span < 2) return;
  stopped_in_a_row_ = doublings(memory.stopped_in_a_row);
  acquitted_in_a_row_ = doublings(memory.acquitted_in_a_row);
  const bool known = memory.state > kFree && memory.state <= kAcquitted &&
                     memory.left > 0 && memory.share_before >= 0 &&
                     memory.share_before <= 1;
  if (!known) return;
  share_before_ = memory.share_before;
  become(static_cast<State>(memory.state),
         std::min(memory.left, options_.rest << kMostDoublings));
}

double ThrashWatch::share_of_last(std::int64_t windows) const {
  const auto count =
      std::min<std::size_t>(seen_.size(), static_cast<std::size_t>(windows));
  double sum = 0;
  for (std::size_t i = seen_.size() - count; i < seen_.size(); ++i) {
    sum += seen_[i].fast_share;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

bool ThrashWatch::suspicious() const {
  if (static_cast<std::int64_t>(seen_.size()) < options_.span) return false;
  Bytes moved = 0;
  Bytes returned = 0;
  std::int64_t too_large = 0;
  for (const auto& window : seen_) {
    moved += window.moved;
    returned += window.returned;
    too_large += window.working_set > window.fast;
  }
  if (moved == 0 || 2 * too_large <= options_.span) return false;
  if (static_cast<double>(returned) <
      options_.returned * static_cast<double>(moved)) {
    return false;
  }
  const auto half = options_.span / 2;
  const double late = share_of_last(half);
  const double all = share_of_last(options_.span);
  const double early = 2 * all - late;  // the halves are alike in length
  return late < early + options_.gain;
}

void ThrashWatch::become(State state, std::int64_t windows) {
  state_ = state;
  left_ = windows;
}

void ThrashWatch::end_window(const Window& window) {
  if (options_.span < 2) return;
  seen_.push_back(window);
  if (static_cast<std::int64_t>(seen_.size()) > options_.span) {
    seen_.pop_front();
  }
  if (state_ == kFree) {
    if (!suspicious()) return;
    ++trials_;
    share_before_ = share_of_last(options_.span / 2);
    return become(kTrial, options_.trial);
  }
  if (state_ == kStopped && window.working_set <= window.fast) {
    stopped_in_a_row_ = 0;
    seen_.clear();
    return become(kFree, 0);
  }
  const bool over = --left_ <= 0;
  const bool worse =
      share_of_last(options_.trial) < share_before_ - options_.gain;
  // What a trial was too short to show may show later.
  if (worse && (state_ == kStopped || (state_ == kTrial && over))) {
    stopped_in_a_row_ = 0;
    become(kAcquitted, options_.rest << acquitted_in_a_row_);
    acquitted_in_a_row_ = std::min(acquitted_in_a_row_ + 1, kMostDoublings);
  } else if (over && state_ != kTrial) {
    seen_.clear();
    become(kFree, 0);
  } else if (over) {
    ++stops_;
    acquitted_in_a_row_ = 0;
    become(kStopped, options_.rest << stopped_in_a_row_);
    stopped_in_a_row_ = std::min(stopped_in_a_row_ + 1, kMostDoublings);
  }
}

}  // namespace thermocline
