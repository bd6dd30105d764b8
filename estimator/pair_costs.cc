#include "estimator/pair_costs.h"

#include <algorithm>
#include <memory>

#include "estimator/access_classes.h"
#include "estimator/access_cost.h"
#include "estimator/class_costs.h"

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
  for (std::size_t c = 0; c < count; ++c) {
    if (latency[c] <= 0 || tier.read_ns <= 0 || run.cost[c] <= 0) continue;
    run.queued[c] = std::max(1.0, latency[c] / tier.read_ns);
    run.overlap[c] = std::clamp(
        latency[c] * classes.all()[c].period / run.cost[c], 1.0, kInFlight);
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

// How far a class waits for bandwidth (savings.h), 0 to 1.
double bandwidth_share(const AccessClass& what, double queued) {
  return what.sequential ? 1 : std::clamp((queued - 2) / 2, 0.0, 1.0);
}

// What one sample of each class is to the savings, in the mean over the job.
std::vector<SavingSample> kinds_of(const AccessClasses& classes,
                                   const Run& slow, const Run& fast,
                                   const Tier& tier) {
  std::vector<SavingSample> out;
  for (std::size_t c = 0; c < classes.all().size(); ++c) {
    const auto& what = classes.all()[c];
    const double in_slow = slow.cost[c];
    const double in_fast =
        slow.samples[c] > 0 ? fast.total(c) / slow.samples[c] : 0;
    const double bandwidth = bandwidth_share(what, slow.queued[c]);
    const auto queue = [&](const Run& run, double cost) {
      return cost * (1 - bandwidth) * (1 - 1 / run.queued[c]) / run.overlap[c];
    };
    SavingSample sample;
    sample.slow_ns = static_cast<float>(in_slow * bandwidth);
    sample.fast_ns = static_cast<float>(in_fast * bandwidth);
    sample.slow_queue_ns = static_cast<float>(queue(slow, in_slow));
    sample.fast_queue_ns = static_cast<float>(queue(fast, in_fast));
    sample.link = static_cast<float>(link_ns(what, tier) * what.period);
    out.push_back(sample);
  }
  return out;
}

Savings savings_of(const Trace& slow, const AccessClasses& classes,
                   const std::vector<SavingSample>& kinds,
                   const std::vector<double>& slow_cost,
                   const std::vector<double>& fast_cost,
                   const WindowCuts& slow_cuts, const WindowCuts& fast_cuts,
                   const RegionMap& regions) {
  Savings out;
  std::size_t first = 0;
  for (std::size_t w = 0; w + 1 < slow_cuts.at.size(); ++w) {
    std::size_t last = first;
    double slow_sum = 0, fast_sum = 0;
    for (; last < slow.samples.size() && slow_cuts.of_sample[last] == w;
         ++last) {
      const auto c = classes.of(slow.samples[last]);
      slow_sum += slow_cost[c];
      fast_sum += fast_cost[c];
    }
    const auto scale = [w](const WindowCuts& cuts, double sum) {
      const auto time = static_cast<double>(cuts.at[w + 1] - cuts.at[w]);
      return static_cast<float>(sum > 0 ? time / sum : 0);
    };
    const float slow_scale = scale(slow_cuts, slow_sum);
    const float fast_scale = scale(fast_cuts, fast_sum);
    for (; first < last; ++first) {
      const Sample& sample = slow.samples[first];
      const auto object = regions.find(sample.address);
      if (!object) continue;
      auto one = kinds[classes.of(sample)];
      one.object = *object;
      one.slow_ns *= slow_scale;
      one.slow_queue_ns *= slow_scale;
      one.fast_ns *= fast_scale;
      one.fast_queue_ns *= fast_scale;
      out.add(one);
    }
    out.end_window();
  }
  return out;
}

}  // namespace

PairCosts pair_costs(const Trace& slow, const Trace& fast,
                     const Machine& machine, const WindowCuts& slow_cuts,
                     const WindowCuts& fast_cuts, const RegionMap& regions) {
  const auto classes = std::make_shared<const AccessClasses>(slow, fast);
  if (!classes->known()) {
    const auto same = by_accesses(store_weight(machine));
    return {same, same, {}, false};
  }
  const Tier& slowest = machine.tiers.back();
  const Run in_slow = look_at(slow, *classes, slowest, machine.cycles_per_ns);
  const Run in_fast =
      look_at(fast, *classes, machine.tiers.front(), machine.cycles_per_ns);
  std::vector<double> fast_cost(in_slow.cost.size(), 0);
  for (std::size_t c = 0; c < fast_cost.size(); ++c) {
    if (in_slow.samples[c] > 0) {
      fast_cost[c] = in_fast.total(c) / in_slow.samples[c];
    }
  }
  return {
      weigh(classes, in_slow, in_fast, in_slow),
      weigh(classes, in_slow, in_fast, in_fast),
      savings_of(slow, *classes, kinds_of(*classes, in_slow, in_fast, slowest),
                 in_slow.cost, fast_cost, slow_cuts, fast_cuts, regions),
      true};
}

}  // namespace thermocline
