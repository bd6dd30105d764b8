// AccessShape: how accesses of one class are made.
//
// Thread safety: plain values. Units: nanoseconds.
#pragma once

#include <array>
#include <cstddef>

#include "estimator/latencies.h"

namespace thermocline {

inline constexpr double kWindowInstructions = 256;
inline constexpr std::size_t kMostBurst = 64;
inline constexpr std::size_t kMostLinks = 8;  // tiers

// By tier, the fastest first.
using ByTier = std::array<double, kMostLinks>;

struct AccessShape {
  bool store = false;
  bool sequential = false;
  std::size_t streams = 1;                         // of a sequential class
  double work_ns = 0;                              // computing for an access
  double instructions = kWindowInstructions / 10;  // for an access
  std::size_t burst = 1;                           // accesses made in a row
  double needed = 0;    // share of bursts that the next access waits for
  double weight = 1;    // accesses for a step, of those of the heaviest class
  ByTier read_ns{};     // for which its lines hold the link
  ByTier written_ns{};  // and those that it sends back
  ByTier back_ns{};     // a whole line that goes back; 0: any number may wait
  ByTier latency_ns{};  // of idle memory
};

// What a PMU would see of the accesses of one shape.
struct SeenAccesses {
  Latencies latency;  // of loads that nothing fetched ahead
  double waited = 0;  // ns for which the core waited for one of them alone
  double count = 0;
};

}  // namespace thermocline
