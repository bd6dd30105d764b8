#include "estimator/savings.h"

#include <algorithm>

#include "estimator/class_costs.h"

namespace thermocline {
namespace {

double saved_in(std::span<const SavingSample> group,
                std::span<const TierId> placement, TierId slowest) {
  double slow = 0, fast = 0;
  double slow_queue = 0, fast_queue = 0;
  double slow_link = 0, fast_link = 0, all = 0;
  for (const auto& sample : group) {
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
  return saved;
}

}  // namespace

double Savings::saved_ns(std::size_t w, std::span<const TierId> placement,
                         TierId slowest) const {
  if (w >= windows_.size()) return 0;
  const std::size_t first = w == 0 ? 0 : windows_[w - 1];
  auto rest = std::span(samples_).subspan(first, windows_[w] - first);
  double saved = 0;
  while (!rest.empty()) {
    const auto group = rest.first(std::min(kGroup, rest.size()));
    saved += saved_in(group, placement, slowest);
    rest = rest.subspan(group.size());
  }
  return saved;
}

}  // namespace thermocline
