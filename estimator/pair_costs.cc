#include "estimator/pair_costs.h"

#include <algorithm>
#include <memory>

#include "estimator/access_classes.h"
#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/class_mixing.h"
#include "estimator/link_lines.h"
#include "estimator/shape_fit.h"

namespace thermocline {
namespace {

// Of a class that gains nothing, so that each sample weighs something.
constexpr double kLeast = 1e-3;

// One run, by class.
struct Run {
  std::vector<double> cost;     // of a sample
  std::vector<double> samples;  // how many
  std::vector<Latencies> latency;
  double total(std::size_t c) const { return cost[c] * samples[c]; }
};

Run look_at(const Trace& trace, const AccessClasses& classes, const Tier& tier,
            double cycles_per_ns) {
  Run run;
  run.cost = class_costs(trace, classes, tier, cycles_per_ns);
  const std::size_t count = classes.all().size();
  run.samples.assign(count, 0);
  for (const Sample& sample : trace.samples) ++run.samples[classes.of(sample)];
  run.latency = classes.latencies(trace, cycles_per_ns);
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
                   slow.samples[c]});
  }
  return out;
}

Savings savings_of(const Trace& slow, const AccessClasses& classes,
                   const std::vector<ClassTimes>& times, const Machine& machine,
                   const WindowCuts& slow_cuts, const WindowCuts& fast_cuts,
                   const RegionMap& regions) {
  Mixture mixture{classes.of_samples(slow), {}};
  mixture.company = companies(mixture.of_sample, classes.all().size());
  std::vector<SampleTime> kinds;
  for (std::size_t c = 0; c < times.size(); ++c) {
    kinds.push_back({times[c].sample_ns[1], times[c].sample_ns[0]});
  }
  Savings out(kinds, fit_shapes(slow, classes, times, mixture, machine),
              mixture.company);
  std::size_t s = 0;
  for (std::size_t w = 0; w + 1 < slow_cuts.at.size(); ++w) {
    double slow_sum = 0, fast_sum = 0;
    for (; s < slow.samples.size() && slow_cuts.of_sample[s] == w; ++s) {
      const auto c = mixture.of_sample[s];
      slow_sum += kinds[c].slow_ns;
      fast_sum += kinds[c].fast_ns;
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
                     const WindowCuts& fast_cuts, const RegionMap& regions,
                     bool overlap) {
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
  return {weigh(classes, in_slow, in_fast, in_slow),
          weigh(classes, in_slow, in_fast, in_fast),
          overlap
              ? savings_of(slow, *classes, times_of(*classes, in_slow, in_fast),
                           machine, slow_cuts, fast_cuts, regions)
              : Savings(),
          true};
}

}  // namespace thermocline
