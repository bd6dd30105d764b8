// Fit terms: what the fits of a job's accesses have in common (shape_fit.h,
// sequence_fit.h).
//
// Thread safety: pure functions, but for Unevenly, of one thread.
#pragma once

#include <cmath>

#include "estimator/latencies.h"

namespace thermocline {

inline double square(double x) { return x * x; }

/// How far the latencies of a core run are off those that were sampled: squares
/// of logarithms. `spread`: also how much they differ among each other; in fast
/// memory chance events outweigh the queue. Requires: both have some.
inline double latency_off(const Latencies& run, const Latencies& told,
                          bool spread) {
  constexpr double kUneven = 0.3;  // weight of how much latencies differ
  const double uneven =
      spread ? (run.deviation() - told.deviation()) / told.mean() : 0;
  return square(std::log(run.mean() / told.mean())) + kUneven * square(uneven);
}

// Where in each of many equal parts of a job to look: anywhere, for jobs repeat
// themselves.
class Unevenly {
 public:
  /// The share of the next part that is passed over.
  double next() { return later_ = std::fmod(later_ + kGolden, 1); }

 private:
  static constexpr double kGolden =
      0.618033988749895;  // multiples lie anywhere
  double later_ = 0;
};

}  // namespace thermocline
