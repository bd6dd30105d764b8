#include "estimator/doubt.h"

#include <cmath>

#include "traces/result.h"

namespace thermocline {
namespace {

// The 90 % quantile of |error| over the terms' size, over the mixed placements
// of all workloads, those that judge the estimates as well: on these, bars from
// the others alone were too narrow by half. And the same for traces without
// their instructions. estimator_accuracy prints what they should be.
constexpr double kKnown = 3.16;
constexpr double kUnknown = 13.2;
// Parts chosen on the development workloads, too, for the narrowest bars.
constexpr double kMixing = 0.1;   // of the gain that is mixed
constexpr double kSavings = 0.1;  // of the time saved

}  // namespace

Doubt::Terms Doubt::terms(std::span<const double> slow, double saved_ns) const {
  CHECK(slow.size() == objects_.size());
  // The mean is what every part of the job's time that is not told apart is at;
  // only what is off it can be wrong. Whole numbers, so exactly 0 or 1 at the
  // endpoints.
  double all = 0, sum = 0;
  for (std::size_t o = 0; o < slow.size(); ++o) {
    all += objects_[o].samples;
    sum += objects_[o].samples * slow[o];
  }
  Terms out;
  if (all <= 0) return out;
  const double mean = sum / all;
  double variance = 0;
  for (std::size_t o = 0; o < slow.size(); ++o) {
    const ObjectEvidence& one = objects_[o];
    if (one.samples <= 0) continue;
    const double off = slow[o] - mean;
    const double gain = (one.slow_ns + one.fast_ns) / 2;
    out.runs += off * (one.slow_ns - one.fast_ns) / 2;
    out.costs += off * (gain - one.alike_ns);
    variance += off * off * gain * gain / one.samples;
  }
  out.runs = std::abs(out.runs);
  out.costs = std::abs(out.costs);
  out.savings = std::abs(saved_ns) * kSavings;
  out.chance = std::sqrt(variance);
  out.mixing = std::abs(gain_ns_) * mean * (1 - mean) * kMixing;
  return out;
}

double Doubt::error_ns(std::span<const double> slow, double saved_ns) const {
  const Terms all = terms(slow, saved_ns);
  double square = 0;
  for (const double one :
       {all.runs, all.costs, all.savings, all.chance, all.mixing}) {
    square += one * one;
  }
  return std::sqrt(square) * (known_ ? kKnown : kUnknown);
}

}  // namespace thermocline
