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

// Calls visit(w, placement) for each window with where objects lie in it.
template <typename Visit>
void each_window(const Differential& made, const Schedule& schedule,
                 const ScheduledRun& run, const Visit& visit) {
  std::vector<TierId> placement = schedule.placement;
  auto next = run.arrivals.begin();
  for (std::size_t w = 0; w < made.windows(); ++w) {
    for (; next != run.arrivals.end() && next->window <= w; ++next) {
      placement[next->object] = next->to;
    }
    visit(w, placement);
  }
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

Breakdown totals(const Differential& made, const Schedule& schedule,
                 bool measured_slow, bool measured_fast) {
  const auto run = run_schedule(made, schedule);
  CHECK(run);
  Breakdown out;
  out.ns = run->run_ns;
  out.error_ns = run->error_ns;
  out.waited_ns = run->waited_ns;
  out.interference_ns = run->interference_ns;
  out.moved_bytes = run->moved;
  out.modelled_ns = run->waited_ns + run->interference_ns;
  each_window(made, schedule, *run, [&](std::size_t w, const auto& placement) {
    const double ns = made.window_ns(w, placement);
    double nearest = std::numeric_limits<double>::infinity();
    if (measured_slow) nearest = std::abs(ns - made.slow_ns(w));
    if (measured_fast) {
      nearest = std::min(nearest, std::abs(ns - made.fast_ns(w)));
    }
    for (TierId t = 1; t + 1U < made.machine().tiers.size(); ++t) {
      if (!made.measured(t)) continue;
      nearest = std::min(nearest, std::abs(ns - made.tier_ns(w, t)));
    }
    out.modelled_ns += nearest;
  });
  return out;
}

Breakdown break_down(const Differential& made, const Schedule& schedule,
                     const std::vector<JobPhase>& phases,
                     const JobObjects& objects, bool measured_slow,
                     bool measured_fast) {
  Breakdown out = totals(made, schedule, measured_slow, measured_fast);
  const auto run = run_schedule(made, schedule);
  CHECK(run);
  std::vector<std::size_t> phase_of(made.windows(), 0);
  for (std::size_t p = 0; p < phases.size(); ++p) {
    for (const std::size_t w : phases[p].windows) phase_of[w] = p;
  }
  out.phases.resize(phases.size());
  const std::size_t tiers = made.machine().tiers.size();
  std::vector<Breakdown::Object> all(objects.objects().size());
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i].object = i;
    all[i].in_tier.assign(tiers, 0);
  }
  double costs = 0;
  each_window(made, schedule, *run, [&](std::size_t w, const auto& placement) {
    auto& sum = out.phases[phase_of[w]];
    sum.slow_ns += made.slow_ns(w);
    sum.ns += made.window_ns(w, placement);
    sum.fast_ns += made.fast_ns(w);
    made.each_cost(w, placement, [&](const Differential::Cost& cost) {
      costs += cost.now_ns;
      for (const auto& part : objects.parts(w, cost.object)) {
        auto& object = all[part.object];
        object.slow_ns += cost.slow_ns * part.share;
        object.cost_ns += cost.now_ns * part.share;
        object.in_tier[placement[cost.object]] += cost.share * part.share;
      }
    });
  });
  // Below a nanosecond is rounding.
  const double overlap = made.fast_ns() + costs - run->placed_ns();
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
