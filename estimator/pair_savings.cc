#include "estimator/pair_savings.h"

#include <algorithm>
#include <numeric>

#include "estimator/access_cost.h"
#include "estimator/class_costs.h"
#include "estimator/class_mixing.h"
#include "estimator/sequenced_job.h"

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

// The slow run's sequences, each a stretch of `savings`, and their misses as
// samples.
class SequencedRun {
 public:
  SequencedRun(const TierRun& slow, const SequencedJob& job,
               const std::vector<ByTier>& kinds, const RegionMap& regions,
               Savings& savings)
      : job_(job), kinds_(kinds), regions_(regions), savings_(savings) {
    misses_.trace.info = slow.trace->info;
    misses_.cuts.at = slow.cuts->at;
  }

  // Of memory that is placed; what was executed beside the rest is not lost.
  void add(const OrderedSequence& sequence, std::size_t window) {
    float instructions = 0;
    bool any = false;
    for (OrderedAccess access : sequence.accesses) {
      access.instructions += instructions;
      const auto object = regions_.find(access.address);
      instructions = object ? 0 : access.instructions;
      if (!object) continue;
      any = true;
      savings_.add(*object, access);
      if (access.missed) add_miss(access, sequence.time, window);
    }
    savings_.end_sequence();
    if (any) ++stretch_;
  }

  // Requires: all windows have ended.
  SequencedMisses misses() && {
    for (const Miss& one : of_) {
      const auto in = [&](std::size_t tier) {
        return kinds_[one.kind][tier] * savings_.scale(one.stretch, tier);
      };
      misses_.weights.push_back(
          std::max(in(savings_.tiers() - 1) - in(0), kLeast));
    }
    return std::move(misses_);
  }

 private:
  // One that gains nothing weighs something.
  static constexpr double kLeast = 1e-9;

  struct Miss {
    std::size_t kind = 0;
    std::size_t stretch = 0;
  };

  void add_miss(const OrderedAccess& access, Nanos time, std::size_t window) {
    Sample miss;
    miss.time = time;
    miss.address = access.address;
    miss.access =
        job_.shapes[access.kind].store ? Access::kStore : Access::kLoad;
    misses_.trace.samples.push_back(miss);
    misses_.cuts.of_sample.push_back(static_cast<std::uint32_t>(window));
    of_.push_back({access.kind, stretch_});
  }

  const SequencedJob& job_;
  const std::vector<ByTier>& kinds_;
  const RegionMap& regions_;
  Savings& savings_;
  SequencedMisses misses_;
  std::vector<Miss> of_;  // by sample of misses_
  std::size_t stretch_ = 0;
};

PairSavings by_sequences(std::span<const TierRun> runs, const SequencedJob& job,
                         std::vector<ByTier> kinds, const Machine& machine,
                         const RegionMap& regions) {
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    for (double& ns : kinds[c]) ns *= job.of_sample[c];
  }
  AccessModel model;
  model.shapes = job.shapes;
  Savings out(machine.tiers.size(), kinds, {model}, {});
  SequencedRun run(runs.back(), job, kinds, regions, out);
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
      run.add(*next, w);
    }
    out.end_window(scale_of(runs, machine, w, sum));
  }
  auto misses = std::move(run).misses();
  return {std::move(out), std::move(misses)};
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
                         const AccessClasses& classes,
                         const std::vector<ClassTimes>& times,
                         const Machine& machine, const RegionMap& regions) {
  const Trace& slow = *runs.back().trace;
  Mixture mixture{classes.of_samples(slow), {}};
  auto kinds = class_times(runs, classes, times, machine);
  const auto job =
      learn_sequences(slow, classes, times, mixture.of_sample, machine);
  if (job) return by_sequences(runs, *job, std::move(kinds), machine, regions);
  mixture.company = companies(mixture.of_sample, classes.all().size());
  return {by_samples(runs, classes, times, std::move(kinds), mixture, machine,
                     regions),
          {}};
}

}  // namespace thermocline
