#include "estimator/sequence_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/fit_terms.h"
#include "estimator/sequence_run.h"

namespace thermocline {
namespace {

constexpr std::size_t kParts = 48;  // sequences that are run
constexpr std::array<double, 5> kFirst{0, 0.25, 0.5, 0.75, 1};
constexpr int kFirstRounds = 2;
constexpr int kRounds = 6;  // of the descent
constexpr double kFirstStep = 0.2;
constexpr double kStepShrinks = 0.7;   // each round
constexpr double kWorthwhile = 0.005;  // share of the samples
// Unless waits are told: what is read in order is in doubt not waited for.
constexpr double kUnneeded = 0.06;

class Fit {
 public:
  Fit(std::vector<AccessShape> shapes, std::span<const MissTimes> times,
      std::span<const OrderedSequence> sequences, std::size_t slowest)
      : shapes_(std::move(shapes)), times_(times), tiers_{0, slowest} {
    choose(sequences);
    for (const MissTimes& one : times_) {
      samples_ += one.samples;
      waits_told_ |= one.waited_ns[1] >= 0;
    }
    for (std::size_t c = 0; c < shapes_.size(); ++c) {
      if (shapes_[c].store) continue;
      if (times_[c].samples > kWorthwhile * samples_) free_.push_back(c);
    }
    std::sort(free_.begin(), free_.end(), [&](std::size_t a, std::size_t b) {
      return times_[a].miss_ns[1] * times_[a].samples >
             times_[b].miss_ns[1] * times_[b].samples;
    });
  }

  std::vector<AccessShape> best() {
    if (parts_.empty()) return shapes_;
    least_ = off();
    start_with(0.5);
    start_with(1);
    for (int round = 0; round < kFirstRounds; ++round) {
      for (const std::size_t c : free_) {
        for (const double needed : kFirst) try_needed(c, needed);
      }
    }
    double step = kFirstStep;
    for (int round = 0; round < kRounds; ++round, step *= kStepShrinks) {
      for (const std::size_t c : free_) {
        for (const double by : {-step, step}) {
          try_needed(c, std::clamp(shapes_[c].needed + by, 0.0, 1.0));
        }
      }
    }
    return shapes_;
  }

 private:
  // One of each of so many equal parts of the job; not evenly, for jobs repeat
  // themselves.
  void choose(std::span<const OrderedSequence> sequences) {
    const auto count = static_cast<double>(sequences.size());
    const double apart = std::max(1.0, count / kParts);
    Unevenly unevenly;
    for (double at = 0; at < count; at += apart) {
      const auto n = static_cast<std::size_t>(at + unevenly.next() * apart);
      if (n < sequences.size()) parts_.push_back(&sequences[n]);
    }
    share_.assign(times_.size(), 0);
    for (const OrderedSequence* part : parts_) {
      for (const OrderedAccess& access : part->accesses) {
        if (!access.missed) continue;
        share_[access.kind] += 1;
      }
    }
    // As all of the job's misses on average: of kinds that come mixed finely,
    // what one takes is known less well.
    double all = 0;
    for (const MissTimes& one : times_) all += one.misses;
    const double part = std::accumulate(share_.begin(), share_.end(), 0.0);
    for (const MissTimes& one : times_) {
      for (std::size_t t = 0; t < 2 && all > 0; ++t) {
        real_[t] += part / all * one.misses * one.miss_ns[t];
      }
    }
  }

  void start_with(double needed) {
    const auto before = shapes_;
    for (const std::size_t c : free_) {
      shapes_[c].needed = shapes_[c].sequential ? 0 : needed;
    }
    const double now = off();
    if (now < least_) {
      least_ = now;
    } else {
      shapes_ = before;
    }
  }

  void try_needed(std::size_t c, double needed) {
    const double before = shapes_[c].needed;
    shapes_[c].needed = needed;
    const double now = off();
    if (now < least_) {
      least_ = now;
    } else {
      shapes_[c].needed = before;
    }
  }

  // How far core runs are off: squares of logarithms.
  double off() const {
    double sum = 0;
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<SeenAccesses> seen(shapes_.size());
      const double run = run_all(tiers_[t], seen);
      if (run > 0 && real_[t] > 0) sum += square(std::log(run / real_[t]));
      for (std::size_t c = 0; c < shapes_.size(); ++c) {
        sum += off(c, t, seen[c]);
      }
    }
    if (waits_told_) return sum;
    for (const std::size_t c : free_) {
      if (!shapes_[c].sequential) continue;
      sum += kUnneeded * times_[c].samples / samples_ * shapes_[c].needed;
    }
    return sum;
  }

  // All in one tier. Each is run twice: its beginning finds an idle core.
  double run_all(std::size_t tier, std::span<SeenAccesses> seen) const {
    double ns = 0;
    for (const OrderedSequence* part : parts_) {
      SequenceRun run(shapes_, seen);
      double before = 0;
      for (int pass = 0; pass < 2; ++pass) {
        before = run.now();
        for (const OrderedAccess& access : part->accesses) {
          run.add(access, tier);
        }
      }
      ns += run.now() - before;
    }
    return ns;
  }

  // Of one class, in one of both runs.
  double off(std::size_t c, std::size_t t, const SeenAccesses& seen) const {
    double sum = 0;
    const MissTimes& its = times_[c];
    if (its.waited_ns[t] >= 0 && seen.count > 0 && real_[t] > 0) {
      const double wrong = seen.waited / seen.count - its.waited_ns[t];
      sum += square(share_[c] * wrong / real_[t]);
    }
    const Latencies& told = its.latency[t];
    if (seen.latency.count <= 0 || told.count <= 0) return sum;
    return sum +
           its.samples / samples_ * latency_off(seen.latency, told, t != 0);
  }

  std::vector<AccessShape> shapes_;
  std::span<const MissTimes> times_;
  std::array<std::size_t, 2> tiers_;  // of the fast and the slow run
  std::vector<const OrderedSequence*> parts_;
  std::vector<std::size_t> free_;  // classes whose shape is looked for
  std::vector<double> share_;      // misses of each class in the parts
  std::array<double, 2> real_{};   // what the parts took
  double samples_ = 0;
  bool waits_told_ = false;
  double least_ = 0;
};

}  // namespace

std::vector<AccessShape> fit_sequences(
    std::vector<AccessShape> shapes, std::span<const MissTimes> times,
    std::span<const OrderedSequence> sequences, std::size_t slowest) {
  return Fit(std::move(shapes), times, sequences, slowest).best();
}

}  // namespace thermocline
