#include "estimator/pair_costs.h"

#include <algorithm>
#include <memory>

#include "estimator/access_classes.h"
#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/link_lines.h"
#include "estimator/pair_savings.h"
#include "estimator/shape_fit.h"
#include "estimator/store_hits.h"

namespace thermocline {
namespace {

// Of a class that gains nothing, so that each sample weighs something.
constexpr double kLeast = 1e-3;

// One run, by class.
struct Run {
  std::vector<double> cost;     // of a sample
  std::vector<double> samples;  // how many
  std::vector<Latencies> latency;
  std::vector<double> waited_ns;
  double total(std::size_t c) const { return cost[c] * samples[c]; }
};

Run look_at(const Trace& trace, const AccessClasses& classes,
            std::vector<double> cost, double cycles_per_ns) {
  Run run;
  run.cost = std::move(cost);
  const std::size_t count = classes.all().size();
  run.samples.assign(count, 0);
  for (const Sample& sample : trace.samples) ++run.samples[classes.of(sample)];
  run.latency = classes.latencies(trace, cycles_per_ns);
  run.waited_ns = classes.waited_ns(trace, cycles_per_ns);
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

std::vector<ClassTimes> times_of(const AccessClasses& classes, const Run& slow,
                                 const Run& fast) {
  std::vector<ClassTimes> out;
  for (std::size_t c = 0; c < classes.all().size(); ++c) {
    const double in_fast =  // of the fast run's samples, for one of the slow's
        slow.samples[c] > 0 ? fast.samples[c] / slow.samples[c] : 0;
    out.push_back({{fast.cost[c] * in_fast, slow.cost[c]},
                   {fast.latency[c], slow.latency[c]},
                   slow.samples[c],
                   {fast.waited_ns[c], slow.waited_ns[c]}});
  }
  return out;
}

}  // namespace

PairCosts pair_costs(const TierRun& slow, const TierRun& fast,
                     std::span<const TierRun> between, const Machine& machine,
                     const RegionMap& regions,
                     const std::vector<Sample>& store_hits, bool overlap) {
  AccessClasses learned(*slow.trace, *fast.trace);
  std::vector<double> written;
  if (!store_hits.empty()) {
    written = written_share(learned, *slow.trace, *fast.trace, store_hits);
  }
  learn_link_lines(*slow.trace, *fast.trace, machine, learned, written);
  const auto classes =
      std::make_shared<const AccessClasses>(std::move(learned));
  if (!classes->known()) {
    const auto same = by_accesses(store_weight(machine));
    return {same, same, {}, {}, false};
  }
  auto costs = class_costs({*slow.trace, machine.tiers.back()},
                           {*fast.trace, machine.tiers.front()}, *classes,
                           machine.cycles_per_ns);
  const Run in_slow = look_at(*slow.trace, *classes, std::move(costs.slow),
                              machine.cycles_per_ns);
  const Run in_fast = look_at(*fast.trace, *classes, std::move(costs.fast),
                              machine.cycles_per_ns);
  PairCosts out{weigh(classes, in_slow, in_fast, in_slow),
                weigh(classes, in_slow, in_fast, in_fast),
                {},
                {},
                true};
  if (overlap && machine.tiers.size() <= kMostLinks) {
    std::vector<TierRun> runs{fast};
    runs.insert(runs.end(), between.begin(), between.end());
    runs.push_back(slow);
    auto savings = pair_savings(
        runs, *classes, times_of(*classes, in_slow, in_fast), machine, regions);
    out.savings = std::move(savings.savings);
    out.sequenced = std::move(savings.sequenced);
  }
  return out;
}

}  // namespace thermocline
