#include "tracer/sampling_budget.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr double kAim = 0.8;         // of the budget, after a change
constexpr double kLeastStep = 1.25;  // a change is worth its cost
constexpr double kMostStep = 256;
constexpr double kMostScale = 1e6;
constexpr int kQuietIntervals = 8;

}  // namespace

void SamplingBudget::spend(std::uint64_t samples, Nanos cpu_ns) {
  // More than a second's worth of nonsense would overflow the sum.
  const auto counted = std::min<std::uint64_t>(samples, 1'000'000'000);
  spent_ += static_cast<Nanos>(counted) * options_.sample_ns;
  spent_ += std::max<Nanos>(cpu_ns, 0);
}

void SamplingBudget::paid_for_change(Nanos cpu_ns, Nanos now) {
  const double spread = static_cast<double>(cpu_ns) / options_.share;
  held_until_ = now + static_cast<Nanos>(std::min(spread, 60e9));
}

bool SamplingBudget::settle(Nanos now) {
  const Nanos elapsed = now - began_;
  if (elapsed < options_.interval_ns) return false;
  used_ = static_cast<double>(spent_) / static_cast<double>(elapsed);
  began_ = now;
  spent_ = 0;
  const double before = scale_;
  if (now >= held_until_) {
    scale_ = next_scale();
    short_ = false;
  }
  return scale_ != before;
}

double SamplingBudget::next_scale() {
  const bool over = used_ > options_.share;
  quiet_ = !over && !short_ && used_ < options_.share / 2 ? quiet_ + 1 : 0;
  if (over || short_) {
    const double step = used_ / (kAim * options_.share);
    const double least = short_ ? 2 : kLeastStep;
    return std::min(scale_ * std::clamp(step, least, kMostStep), kMostScale);
  }
  if (quiet_ < kQuietIntervals) return scale_;
  quiet_ = 0;
  return std::max(scale_ / 2, options_.least_scale);
}

}  // namespace thermocline
