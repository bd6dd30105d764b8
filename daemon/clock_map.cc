#include "daemon/clock_map.h"

#include <algorithm>

namespace thermocline {

void ClockMap::add(Nanos monotonic, Nanos stream) {
  if (!pairs_.empty() &&
      (monotonic <= pairs_.back().first || stream <= pairs_.back().second)) {
    return;
  }
  pairs_.emplace_back(monotonic, stream);
  if (pairs_.size() > 1024) pairs_.pop_front();
}

Nanos ClockMap::to_stream(Nanos monotonic) const {
  if (pairs_.empty()) return monotonic;
  if (pairs_.size() == 1) return pairs_.front().second;
  if (monotonic >= pairs_.back().first) return pairs_.back().second;
  auto after = std::upper_bound(
      pairs_.begin(), pairs_.end(), monotonic,
      [](Nanos time, const auto& pair) { return time < pair.first; });
  if (after == pairs_.begin()) ++after;
  const auto& [m1, s1] = *after;
  const auto& [m0, s0] = *(after - 1);
  const double rate =
      static_cast<double>(s1 - s0) / static_cast<double>(m1 - m0);
  return s0 + static_cast<Nanos>(rate * static_cast<double>(monotonic - m0));
}

}  // namespace thermocline
