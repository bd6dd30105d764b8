#include "estimator/sequenced_job.h"

#include <algorithm>

#include "estimator/class_costs.h"
#include "estimator/class_shapes.h"
#include "estimator/streams.h"

namespace thermocline {
namespace {

constexpr std::size_t kFewest = 64;

// Misses and lines fetched in time, of a class; of both those that a store
// wrote later.
struct Seen {
  double missed = 0;
  double all = 0;
  double written = 0;
};

std::vector<Seen> count(std::span<const OrderedSequence> sequences,
                        std::size_t classes) {
  std::vector<Seen> seen(classes);
  for (const OrderedSequence& sequence : sequences) {
    for (const OrderedAccess& access : sequence.accesses) {
      seen[access.kind].all += 1;
      seen[access.kind].missed += access.missed ? 1 : 0;
      seen[access.kind].written += access.written ? 1 : 0;
    }
  }
  return seen;
}

// Of lines that no store of the sequence writes, which part goes back.
double unseen_share(double back, const Seen& seen) {
  const double others = seen.all - seen.written;
  if (others <= 0) return 0;
  return std::clamp((back * seen.all - seen.written) / others, 0.0, 1.0);
}

// By class: accesses that samples stand for, and of them those that missed: put
// back is what was hidden.
struct Sampled {
  double samples = 0;
  double all = 0;
  double missed = 0;
};

std::vector<Sampled> count(const Trace& slow,
                           std::span<const std::uint32_t> of_sample,
                           std::size_t classes) {
  std::vector<Sampled> out(classes);
  for (std::size_t s = 0; s < slow.samples.size(); ++s) {
    const Sample& sample = slow.samples[s];
    const double period = std::max(sample.period, 1U);
    Sampled& its = out[of_sample[s]];
    its.samples += 1;
    its.all += period;
    its.missed += is_restored(sample) ? 0 : period;
  }
  return out;
}

}  // namespace

std::optional<SequencedJob> learn_sequences(
    const Trace& slow, const AccessClasses& classes,
    std::span<const ClassTimes> times, std::span<const std::uint32_t> of_sample,
    const Machine& machine) {
  SequencedJob job;
  job.sequences = ordered_sequences(slow, classes);
  if (job.sequences.size() < kFewest) return std::nullopt;
  const std::size_t kinds = times.size();
  const auto seen = count(job.sequences, kinds);
  auto sampled = count(slow, of_sample, kinds);
  auto made = classes.all();
  std::vector<MissTimes> misses(kinds);
  job.of_sample.assign(kinds, 0);
  for (std::size_t c = 0; c < kinds; ++c) {
    // What is fetched in vain follows from the sequences.
    made[c].lines = 1;
    // Where samples tell no latency (stores, on older processors), none looks
    // put back or all do.
    if (sampled[c].missed <= 0 && seen[c].all > 0) {
      sampled[c].missed = sampled[c].all * seen[c].missed / seen[c].all;
    }
    if (sampled[c].missed > 0) {
      job.of_sample[c] = sampled[c].samples / sampled[c].missed;
      if (seen[c].all > 0) {
        made[c].back *=
            sampled[c].all / sampled[c].missed * seen[c].missed / seen[c].all;
      }
    }
    if (seen[c].written > 0) made[c].back = unseen_share(made[c].back, seen[c]);
    misses[c] = {{times[c].sample_ns[0] * job.of_sample[c],
                  times[c].sample_ns[1] * job.of_sample[c]},
                 times[c].latency,
                 times[c].samples,
                 sampled[c].missed,
                 times[c].waited_ns};
  }
  job.shapes = class_shapes(made, slow, of_sample, machine);
  for (AccessShape& shape : job.shapes) {
    for (std::size_t t = 0; t < machine.tiers.size(); ++t) {
      shape.back_ns[t] = link_ns({.lines = 0, .back = 1}, machine.tiers[t]);
    }
  }
  job.shapes = fit_sequences(std::move(job.shapes), misses, job.sequences,
                             machine.tiers.size() - 1);
  return job;
}

}  // namespace thermocline
