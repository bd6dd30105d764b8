#include "estimator/pair_savings.h"

#include <algorithm>
#include <numeric>

#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/class_mixing.h"
#include "estimator/sequenced_job.h"
#include "traces/from_cache.h"

namespace thermocline {
namespace {

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

// By class, what a sample takes in each tier.
std::vector<ByTier> class_times(std::span<const TierRun> runs,
                                const AccessClasses& classes,
                                const std::vector<ClassTimes>& times,
                                const Machine& machine) {
  const std::size_t slowest = machine.tiers.size() - 1;
  std::vector<ByTier> kinds(times.size());
  for (std::size_t c = 0; c < times.size(); ++c) {
    kinds[c][0] = times[c].sample_ns[0];
    kinds[c][slowest] = times[c].sample_ns[1];
  }
  for (std::size_t r = 1; r + 1 < runs.size(); ++r) {
    const TierId tier = runs[r].tier;
    const Trace& trace = *runs[r].trace;
    const auto of = classes.of_samples(trace);
    std::vector<double> samples(kinds.size(), 0);
    for (const auto c : of) samples[c] += 1;
    const auto cost =
        class_costs(trace, classes, machine.tiers[tier], machine.cycles_per_ns);
    for (std::size_t c = 0; c < kinds.size(); ++c) {
      if (times[c].samples > 0) {
        kinds[c][tier] = cost[c] * samples[c] / times[c].samples;
      }
    }
  }
  for (ByTier& one : kinds) fill_between(machine, runs, one);
  return kinds;
}

// By how many times what window w took in each tier exceeds `sum`.
ByTier scale_of(std::span<const TierRun> runs, const Machine& machine,
                std::size_t w, const ByTier& sum) {
  ByTier scale{};
  for (const TierRun& run : runs) {
    scale[run.tier] =
        static_cast<double>(run.cuts->at[w + 1] - run.cuts->at[w]);
  }
  fill_between(machine, runs, scale);
  for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
    scale[t] = sum[t] > 0 ? scale[t] / sum[t] : 0;
  }
  return scale;
}

void add(ByTier& sum, const ByTier& more) {
  for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += more[t];
}

// Of memory that is placed; what was executed beside the rest is not lost.
void add_sequence(const OrderedSequence& sequence, const RegionMap& regions,
                  Savings& out) {
  float instructions = 0;
  for (OrderedAccess access : sequence.accesses) {
    access.instructions += instructions;
    const auto object = regions.find(access.address);
    instructions = object ? 0 : access.instructions;
    if (object) out.add(*object, access);
  }
  out.end_sequence();
}

Savings by_sequences(std::span<const TierRun> runs, const SequencedJob& job,
                     std::vector<ByTier> kinds, const Machine& machine,
                     const RegionMap& regions) {
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    for (double& ns : kinds[c]) ns *= job.of_sample[c];
  }
  AccessModel model;
  model.shapes = job.shapes;
  Savings out(machine.tiers.size(), kinds, {model}, {});
  const auto& at = runs.back().cuts->at;
  auto next = job.sequences.begin();
  for (std::size_t w = 0; w + 1 < at.size(); ++w) {
    const bool last = w + 2 == at.size();
    ByTier sum{};
    for (; next != job.sequences.end() && (last || next->time < at[w + 1]);
         ++next) {
      for (const OrderedAccess& access : next->accesses) {
        if (access.missed) add(sum, kinds[access.kind]);
      }
      add_sequence(*next, regions, out);
    }
    out.end_window(scale_of(runs, machine, w, sum));
  }
  return out;
}

// A class that gains nothing weighs something.
constexpr double kLeast = 1e-9;

SequencedMisses misses_of(const Trace& slow, const std::vector<Nanos>& at,
                          const SequencedJob& job,
                          const std::shared_ptr<const AccessClasses>& classes,
                          const std::vector<ByTier>& kinds,
                          std::size_t slowest) {
  SequencedMisses out;
  out.trace.info = slow.info;
  out.cuts.at = at;
  std::uint32_t window = 0;
  for (const AccessSequence& sequence : slow.sequences) {
    while (window + 2 < at.size() && sequence.time >= at[window + 1]) ++window;
    for (const SequencedAccess& access : sequence.accesses) {
      if (is_cache(access.source)) continue;
      Sample miss;
      miss.time = sequence.time;
      miss.address = access.address;
      miss.ip = access.ip;
      miss.access = access.access;
      out.trace.samples.push_back(miss);
      out.cuts.of_sample.push_back(window);
    }
  }
  std::vector<double> weights;
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    weights.push_back(
        std::max((kinds[c][slowest] - kinds[c][0]) * job.of_sample[c], kLeast));
  }
  out.weigh = [classes, weights](const Sample& miss) {
    return weights[classes->of(miss)];
  };
  return out;
}

Savings by_samples(std::span<const TierRun> runs, const AccessClasses& classes,
                   const std::vector<ClassTimes>& times,
                   std::vector<ByTier> kinds, const Mixture& mixture,
                   const Machine& machine, const RegionMap& regions) {
  const Trace& slow = *runs.back().trace;
  Savings out(machine.tiers.size(), kinds,
              fit_shapes(slow, classes, times, mixture, machine),
              mixture.company);
  const WindowCuts& cuts = *runs.back().cuts;
  std::size_t s = 0;
  for (std::size_t w = 0; w + 1 < cuts.at.size(); ++w) {
    ByTier sum{};
    for (; s < slow.samples.size() && cuts.of_sample[s] == w; ++s) {
      const auto c = mixture.of_sample[s];
      add(sum, kinds[c]);
      const auto object = regions.find(slow.samples[s].address);
      if (object) out.add(*object, c);
    }
    out.end_window(scale_of(runs, machine, w, sum));
  }
  return out;
}

}  // namespace

PairSavings pair_savings(std::span<const TierRun> runs,
                         const std::shared_ptr<const AccessClasses>& classes,
                         const std::vector<ClassTimes>& times,
                         const Machine& machine, const RegionMap& regions) {
  const Trace& slow = *runs.back().trace;
  Mixture mixture{classes->of_samples(slow), {}};
  auto kinds = class_times(runs, *classes, times, machine);
  const auto job =
      learn_sequences(slow, *classes, times, mixture.of_sample, machine);
  if (job) {
    auto misses = misses_of(slow, runs.back().cuts->at, *job, classes, kinds,
                            machine.tiers.size() - 1);
    return {by_sequences(runs, *job, std::move(kinds), machine, regions),
            std::move(misses)};
  }
  mixture.company = companies(mixture.of_sample, classes->all().size());
  return {by_samples(runs, *classes, times, std::move(kinds), mixture, machine,
                     regions),
          {}};
}

}  // namespace thermocline
