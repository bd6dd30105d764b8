#include "agent/fine_tuner.h"

#include <cstdio>
#include <utility>

namespace thermocline {
namespace {

// More windows than these come only when learning is starved; the oldest go.
constexpr std::size_t kMostWaiting = 64;

}  // namespace

FineTuner::FineTuner(std::vector<float> base, const Options& options,
                     Packer packer)
    : options_(options),
      base_(OnlineState::checksum(base)),
      learner_(base, recall(base).weights, options.learning, std::move(packer)),
      thread_(options.share, [this] { return work(); }) {}

OnlineState FineTuner::recall(const std::vector<float>& base) {
  OnlineState fresh{base_, base};
  const auto go_on = [this](OnlineState known) {
    verdict_ = Verdict{known.weights, 0, 0};
    learned_ = known.text();
    return known;
  };
  if (options_.from) {
    if (options_.from->began_with(base)) return go_on(*options_.from);
    counts_.states_refused += 1;
  }
  if (options_.state.empty()) return fresh;
  auto known = OnlineState::load(options_.state);
  if (!known && known.error().code == Error::Code::kNotFound) return fresh;
  if (known && known->began_with(base)) return go_on(*std::move(known));
  counts_.states_refused += 1;
  std::rename(options_.state.c_str(), (options_.state + ".refused").c_str());
  return fresh;
}

void FineTuner::see(const View& view) {
  auto window = SeenWindow::of(view);
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back(std::move(window));
    if (seen_.size() > kMostWaiting) seen_.pop_front();
  }
  thread_.wake();
}

std::optional<Verdict> FineTuner::verdict() {
  const std::lock_guard lock(mutex_);
  return std::exchange(verdict_, std::nullopt);
}

std::string FineTuner::learned() const {
  const std::lock_guard lock(mutex_);
  return learned_;
}

FineTuner::Counts FineTuner::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool FineTuner::work() {
  std::deque<SeenWindow> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(seen_);
  }
  for (SeenWindow& window : fresh) learner_.see(std::move(window));
  const bool more = learner_.work();
  publish();
  return more;
}

void FineTuner::publish() {
  auto news = learner_.verdict();
  bool failed = false;
  std::string learned;
  if (news) {
    const OnlineState state{base_, news->weights};
    learned = state.text();
    if (!options_.state.empty()) failed = !state.save(options_.state);
  }
  const std::lock_guard lock(mutex_);
  counts_.learning = learner_.counts();
  counts_.saves_failed += failed ? 1 : 0;
  if (!news) return;
  verdict_ = std::move(news);
  learned_ = std::move(learned);
}

}  // namespace thermocline
