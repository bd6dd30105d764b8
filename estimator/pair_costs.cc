#include "estimator/pair_costs.h"

#include <algorithm>
#include <memory>

#include "estimator/access_classes.h"
#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/link_lines.h"

namespace thermocline {
namespace {

// Of a class that gains nothing, so that each sample weighs something.
constexpr double kLeast = 1e-3;

// One run, by class.
struct Run {
  std::vector<double> cost;     // of a sample
  std::vector<double> samples;  // how many
  std::vector<double> queued;   // its latency over that of idle memory; >= 1
  std::vector<double> overlap;  // accesses in flight at once
  std::vector<double> seen;  // share of its samples that are real: with latency
  double total(std::size_t c) const { return cost[c] * samples[c]; }
};

Run look_at(const Trace& trace, const AccessClasses& classes, const Tier& tier,
            double cycles_per_ns) {
  Run run;
  run.cost = class_costs(trace, classes, tier, cycles_per_ns);
  const std::size_t count = classes.all().size();
  run.samples.assign(count, 0);
  for (const Sample& sample : trace.samples) ++run.samples[classes.of(sample)];
  const auto latency = classes.latencies(trace, cycles_per_ns);
  run.queued.assign(count, 1);
  run.overlap.assign(count, 1);
  run.seen.assign(count, 0);
  for (const Sample& sample : trace.samples) {
    const auto c = classes.of(sample);
    if (sample.latency > 0) run.seen[c] += 1 / run.samples[c];
  }
  for (std::size_t c = 0; c < count; ++c) {
    if (latency[c] <= 0 || tier.read_ns <= 0 || run.cost[c] <= 0) continue;
    run.queued[c] = std::max(1.0, latency[c] / tier.read_ns);
    run.overlap[c] = std::clamp(
        latency[c] * classes.all()[c].period / run.cost[c], 1.0, 2 * kInFlight);
  }
  return run;
}

Weigh weigh(const std::shared_ptr<const AccessClasses>& classes,
            const Run& slow, const Run& fast, const Run& mine) {
  std::vector<double> weights(mine.cost.size(), 1);
  for (std::size_t c = 0; c < weights.size(); ++c) {
    if (mine.samples[c] <= 0) continue;
    const double least = kLeast * std::max(slow.total(c), fast.total(c));
    const double gain = std::max(slow.total(c) - fast.total(c), least);
    weights[c] = std::max(gain / mine.samples[c], 1e-9);
  }
  return [classes, weights](const Sample& sample) {
    return weights[classes->of(sample)];
  };
}

// What one sample of a class took in a run, and of what that was made.
TierTime time_of(const Run& run, std::size_t c, const AccessClass& what,
                 const Tier& tier, double samples) {
  const double seen = run.cost[c] * run.seen[c];
  TierTime one{run.cost[c], link_ns(what, tier) * what.period,
               seen / run.queued[c], seen * (1 - 1 / run.queued[c])};
  for (double* part : {&one.ns, &one.link_ns, &one.wait_ns, &one.queue_ns}) {
    *part *= samples;
  }
  return one;
}

// By class, what a sample of the slow run is to the savings.
std::vector<SampleKind> kinds_of(const AccessClasses& classes, const Run& slow,
                                 const Run& fast, const Machine& machine) {
  std::vector<SampleKind> out;
  for (std::size_t c = 0; c < classes.all().size(); ++c) {
    const auto& what = classes.all()[c];
    const double in_fast =  // of the fast run's samples, for one of the slow's
        slow.samples[c] > 0 ? fast.samples[c] / slow.samples[c] : 0;
    out.push_back({time_of(slow, c, what, machine.tiers.back(), 1),
                   time_of(fast, c, what, machine.tiers.front(), in_fast),
                   what.sequential, slow.overlap[c]});
  }
  return out;
}

Savings savings_of(const Trace& slow, const AccessClasses& classes,
                   std::vector<SampleKind> kinds, const WindowCuts& slow_cuts,
                   const WindowCuts& fast_cuts, const RegionMap& regions) {
  Savings out(kinds);
  std::size_t s = 0;
  for (std::size_t w = 0; w + 1 < slow_cuts.at.size(); ++w) {
    double slow_sum = 0, fast_sum = 0;
    for (; s < slow.samples.size() && slow_cuts.of_sample[s] == w; ++s) {
      const auto c = classes.of(slow.samples[s]);
      slow_sum += kinds[c].slow.ns;
      fast_sum += kinds[c].fast.ns;
      const auto object = regions.find(slow.samples[s].address);
      if (object) out.add(*object, c);
    }
    const auto scale = [w](const WindowCuts& cuts, double sum) {
      const auto time = static_cast<double>(cuts.at[w + 1] - cuts.at[w]);
      return sum > 0 ? time / sum : 0;
    };
    out.end_window(scale(slow_cuts, slow_sum), scale(fast_cuts, fast_sum));
  }
  return out;
}

}  // namespace

PairCosts pair_costs(const Trace& slow, const Trace& fast,
                     const Machine& machine, const WindowCuts& slow_cuts,
                     const WindowCuts& fast_cuts, const RegionMap& regions) {
  AccessClasses learned(slow, fast);
  learn_link_lines(slow, fast, machine, learned);
  const auto classes =
      std::make_shared<const AccessClasses>(std::move(learned));
  if (!classes->known()) {
    const auto same = by_accesses(store_weight(machine));
    return {same, same, {}, false};
  }
  const Tier& slowest = machine.tiers.back();
  const Run in_slow = look_at(slow, *classes, slowest, machine.cycles_per_ns);
  const Run in_fast =
      look_at(fast, *classes, machine.tiers.front(), machine.cycles_per_ns);
  return {
      weigh(classes, in_slow, in_fast, in_slow),
      weigh(classes, in_slow, in_fast, in_fast),
      savings_of(slow, *classes, kinds_of(*classes, in_slow, in_fast, machine),
                 slow_cuts, fast_cuts, regions),
      true};
}

}  // namespace thermocline
