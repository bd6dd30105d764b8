#include "estimator/pair_costs.h"

#include <algorithm>
#include <memory>

#include "estimator/access_classes.h"
#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/class_mixing.h"
#include "estimator/link_lines.h"
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

// What a figure of each tier is, by those that have a run; another's lies
// between its neighbours' by latency.
void fill_between(const Machine& machine, std::span<const TierRun> runs,
                  ByTier& figures) {
  const auto by_latency = slowness(machine);
  std::size_t above = 0;  // the run of the nearest tier that is not slower
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    if (runs[above + 1].tier <= t && above + 2 < runs.size()) ++above;
    const TierId low = runs[above].tier, high = runs[above + 1].tier;
    if (t == low || t == high) continue;
    const double span = by_latency[high] - by_latency[low];
    const double part =
        span > 0
            ? std::clamp((by_latency[t] - by_latency[low]) / span, 0.0, 1.0)
            : 1;
    figures[t] = figures[low] + part * (figures[high] - figures[low]);
  }
}

// `runs`: by tier, the fastest first.
Savings savings_of(std::span<const TierRun> runs, const AccessClasses& classes,
                   const std::vector<ClassTimes>& times, const Machine& machine,
                   const RegionMap& regions) {
  const Trace& slow = *runs.back().trace;
  const std::size_t tiers = machine.tiers.size();
  Mixture mixture{classes.of_samples(slow), {}};
  mixture.company = companies(mixture.of_sample, classes.all().size());
  std::vector<ByTier> kinds(times.size());
  for (std::size_t c = 0; c < times.size(); ++c) {
    kinds[c][0] = times[c].sample_ns[0];
    kinds[c][tiers - 1] = times[c].sample_ns[1];
  }
  for (std::size_t r = 1; r + 1 < runs.size(); ++r) {
    const TierId tier = runs[r].tier;
    const Trace& trace = *runs[r].trace;
    const Run run = look_at(
        trace, classes,
        class_costs(trace, classes, machine.tiers[tier], machine.cycles_per_ns),
        machine.cycles_per_ns);
    for (std::size_t c = 0; c < kinds.size(); ++c) {
      if (times[c].samples > 0) {
        kinds[c][tier] = run.total(c) / times[c].samples;
      }
    }
  }
  for (ByTier& one : kinds) fill_between(machine, runs, one);
  Savings out(tiers, kinds, fit_shapes(slow, classes, times, mixture, machine),
              mixture.company);
  const WindowCuts& cuts = *runs.back().cuts;
  std::size_t s = 0;
  for (std::size_t w = 0; w + 1 < cuts.at.size(); ++w) {
    ByTier sum{};
    for (; s < slow.samples.size() && cuts.of_sample[s] == w; ++s) {
      const auto c = mixture.of_sample[s];
      for (std::size_t t = 0; t < tiers; ++t) sum[t] += kinds[c][t];
      const auto object = regions.find(slow.samples[s].address);
      if (object) out.add(*object, c);
    }
    ByTier scale{};
    for (const TierRun& run : runs) {
      scale[run.tier] =
          static_cast<double>(run.cuts->at[w + 1] - run.cuts->at[w]);
    }
    fill_between(machine, runs, scale);
    for (std::size_t t = 0; t < tiers; ++t) {
      scale[t] = sum[t] > 0 ? scale[t] / sum[t] : 0;
    }
    out.end_window(scale);
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
    return {same, same, {}, false};
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
                true};
  if (overlap && machine.tiers.size() <= kMostLinks) {
    std::vector<TierRun> runs{fast};
    runs.insert(runs.end(), between.begin(), between.end());
    runs.push_back(slow);
    out.savings = savings_of(
        runs, *classes, times_of(*classes, in_slow, in_fast), machine, regions);
  }
  return out;
}

}  // namespace thermocline
