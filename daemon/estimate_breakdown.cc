#include "daemon/estimate_breakdown.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace thermocline {
namespace {

constexpr std::size_t kParts = 10;  // of a job that is one phase

std::vector<JobPhase> equal_parts(const Differential& made) {
  std::vector<JobPhase> phases;
  const std::size_t parts = std::min(kParts, made.windows());
  for (std::size_t p = 0; p < parts; ++p) {
    JobPhase phase;
    phase.name = "part " + std::to_string(p + 1) + " of " +
                 std::to_string(parts) + " by work";
    for (std::size_t w = p * made.windows() / parts;
         w < (p + 1) * made.windows() / parts; ++w) {
      phase.windows.push_back(w);
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

}  // namespace

std::vector<JobPhase> phases_of(const Differential& made) {
  if (made.phases().size() == 1) return equal_parts(made);
  std::vector<JobPhase> phases;
  std::map<std::string, std::size_t> by_name;
  for (const PhaseWindows& phase : made.phases()) {
    const auto [at, added] = by_name.emplace(phase.name, phases.size());
    if (added) phases.push_back({phase.name, {}});
    auto& windows = phases[at->second].windows;
    for (std::size_t w = phase.first; w < phase.last; ++w) windows.push_back(w);
  }
  return phases;
}

Breakdown totals(const Differential& made, const std::vector<TierId>& placement,
                 bool measured_slow, bool measured_fast) {
  Breakdown out;
  out.ns = made.total_ns(placement);
  out.error_ns = made.error_ns(placement);
  for (std::size_t w = 0; w < made.windows(); ++w) {
    const double ns = made.window_ns(w, placement);
    double nearest = std::numeric_limits<double>::infinity();
    if (measured_slow) nearest = std::abs(ns - made.slow_ns(w));
    if (measured_fast) {
      nearest = std::min(nearest, std::abs(ns - made.fast_ns(w)));
    }
    out.modelled_ns += nearest;
  }
  return out;
}

Breakdown break_down(const Differential& made,
                     const std::vector<TierId>& placement,
                     const std::vector<JobPhase>& phases,
                     const JobObjects& objects, bool measured_slow,
                     bool measured_fast) {
  Breakdown out = totals(made, placement, measured_slow, measured_fast);
  for (const JobPhase& phase : phases) {
    Breakdown::Phase sum;
    for (const std::size_t w : phase.windows) {
      sum.slow_ns += made.slow_ns(w);
      sum.ns += made.window_ns(w, placement);
      sum.fast_ns += made.fast_ns(w);
    }
    out.phases.push_back(sum);
  }
  const std::size_t tiers = made.machine().tiers.size();
  std::vector<Breakdown::Object> all(objects.objects().size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i].object = i;
    all[i].in_tier.assign(tiers, 0);
  }
  double costs = 0;
  for (std::size_t w = 0; w < made.windows(); ++w) {
    const double gap = made.slow_ns(w) - made.fast_ns(w);
    for (const WindowAccess& access : made.accesses(w)) {
      const TierId tier = placement[access.object];
      const double cost = access.cost * gap * made.slowness(tier);
      costs += cost;
      for (const auto& part : objects.parts(w, access.object)) {
        auto& object = all[part.object];
        const double slow = access.cost * gap * part.share;
        object.slow_ns += slow;
        object.cost_ns += slow * made.slowness(tier);
        object.in_tier[tier] += access.cost * part.share;
      }
    }
  }
  // Below a nanosecond is rounding.
  const double overlap = made.fast_ns() + costs - out.ns;
  if (std::abs(overlap) >= 1) out.overlap_ns = overlap;
  for (auto& object : all) {
    if (object.slow_ns == 0) continue;
    const double whole =
        std::accumulate(object.in_tier.begin(), object.in_tier.end(), 0.0);
    for (double& part : object.in_tier) part /= whole;
    out.objects.push_back(std::move(object));
  }
  std::sort(out.objects.begin(), out.objects.end(),
            [](const auto& a, const auto& b) {
              return a.slow_ns != b.slow_ns ? a.slow_ns > b.slow_ns
                                            : a.object < b.object;
            });
  return out;
}

}  // namespace thermocline
