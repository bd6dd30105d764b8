// Sampling periods: primes only, so that no loop of the job runs in step with
// them and shows one of its accesses over and over.
//
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tracer/perf_events.h"

namespace thermocline {

// The last prime that fits a sample's 31 bits of period, with room to spare
// (2^31 - 1).
inline constexpr std::uint64_t kLongestPeriod = 2'147'483'647;

/// The least prime >= `number`, at least 2. Requires: number <=
/// kLongestPeriod. Cost: O(sqrt(number)) for each of a few hundred at most.
inline std::uint64_t next_prime(std::uint64_t number) {
  const auto is_prime = [](std::uint64_t n) {
    for (std::uint64_t d = 2; d * d <= n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  };
  number = std::max<std::uint64_t>(number, 2);
  while (!is_prime(number)) ++number;
  return number;
}

/// The period of `event` when it is to be `scale` times as long as the one
/// that it began with: a prime (times the event's step), never below its least
/// period. At scale 1 it is the one that was asked for, prime or not.
inline std::uint64_t scaled_period(const PerfEvent& event, double scale) {
  if (scale == 1) return event.period;
  const auto step = std::max<std::uint64_t>(event.period_step, 1);
  const double wanted = static_cast<double>(event.period) * scale;
  const std::uint64_t most = kLongestPeriod / step;
  const double steps = std::clamp(wanted / static_cast<double>(step), 1.0,
                                  static_cast<double>(most));
  const auto whole = static_cast<std::uint64_t>(std::llround(steps));
  if (whole * step <= event.least_period) return event.least_period;
  return step * next_prime(whole);
}

}  // namespace thermocline
