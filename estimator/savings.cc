#include "estimator/savings.h"

#include <algorithm>
#include <numeric>

#include "estimator/class_costs.h"

namespace thermocline {

FineNanos Savings::saved_in(std::size_t group,
                            std::span<const TierId> placement,
                            TierId slowest) const {
  const std::size_t first = group == 0 ? 0 : groups_[group - 1];
  double slow = 0, fast = 0;
  double slow_queue = 0, fast_queue = 0;
  double slow_link = 0, fast_link = 0, all = 0;
  for (std::size_t s = first; s < groups_[group]; ++s) {
    const SavingSample& sample = samples_[s];
    const TierId tier = placement[sample.object];
    const double link = static_cast<double>(sample.link);
    all += link;
    if (tier == slowest) {
      slow += static_cast<double>(sample.slow_ns);
      slow_queue += static_cast<double>(sample.slow_queue_ns);
      slow_link += link;
    } else if (tier == 0) {
      fast += static_cast<double>(sample.fast_ns);
      fast_queue += static_cast<double>(sample.fast_queue_ns);
      fast_link += link;
    }
  }
  double saved = std::min(slow, fast);
  if (all > 0) {
    saved +=
        slow_queue * (1 - slow_link / all) + fast_queue * (1 - fast_link / all);
  }
  return to_fine(saved);
}

void Savings::end_window() {
  std::size_t at = groups_.empty() ? 0 : groups_.back();
  while (at < samples_.size()) {
    at = std::min(at + kGroup, samples_.size());
    groups_.push_back(at);
  }
  windows_.push_back(groups_.size());
}

void Savings::index(std::size_t objects) {
  // Visits each object of each group once.
  const auto each = [&](const auto& visit) {
    constexpr std::size_t kNever = ~std::size_t{0};
    std::vector<std::size_t> seen(objects, kNever);
    std::size_t s = 0;
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      for (; s < groups_[group]; ++s) {
        const ObjectId object = samples_[s].object;
        if (seen[object] == group) continue;
        seen[object] = group;
        visit(object, group);
      }
    }
  };
  first_.assign(objects + 1, 0);
  each([&](ObjectId object, std::size_t) { ++first_[object + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  in_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  each([&](ObjectId object, std::size_t group) {
    in_[next[object]++] = static_cast<std::uint32_t>(group);
  });
}

std::span<const std::uint32_t> Savings::groups_of(ObjectId object) const {
  return std::span(in_).subspan(first_[object],
                                first_[object + 1] - first_[object]);
}

double Savings::saved_ns(std::size_t w, std::span<const TierId> placement,
                         TierId slowest) const {
  if (w >= windows_.size()) return 0;
  FineNanos saved = 0;
  for (std::size_t g = w == 0 ? 0 : windows_[w - 1]; g < windows_[w]; ++g) {
    saved += saved_in(g, placement, slowest);
  }
  return to_ns(saved);
}

FineNanos Savings::saved(std::span<const TierId> placement,
                         TierId slowest) const {
  FineNanos saved = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    saved += saved_in(g, placement, slowest);
  }
  return saved;
}

}  // namespace thermocline
