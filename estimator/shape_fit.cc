#include "estimator/shape_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "estimator/class_shapes.h"
#include "estimator/fit_terms.h"
#include "estimator/mixed_run.h"

namespace thermocline {
namespace {

constexpr std::array<std::size_t, 12> kBursts{1,  2,  3,  4,  6,  8,
                                              12, 16, 24, 32, 48, kMostBurst};
constexpr std::size_t kParts = 24;  // of the mixture, that are run
constexpr std::size_t kPartSamples = 64;
constexpr int kPasses = 8;
constexpr int kRounds = 6;            // of the descent
constexpr double kFirstStep = 0.2;    // of `needed`
constexpr double kStepShrinks = 0.7;  // each round
constexpr int kHalvings = 14;
constexpr std::size_t kSearched = 4;  // classes, those of most time
// Of what is off by about as much, the shorter bursts are taken: for each
// doubling. Likewise what is not needed, of a sequential class.
constexpr double kPlain = 0.012;
constexpr double kUnneeded = 0.06;    // unless waits are told
constexpr double kWorthwhile = 0.01;  // share of the samples
constexpr std::array<std::size_t, 7> kTogether{1, 2, 4, 8, 16, 64, 256};
constexpr std::size_t kMany = 16;
constexpr std::array<double, 3> kApart{0, 32, 64};  // instructions; rising
// An account that is off by so much more weighs 1 / e; by far less, nothing.
constexpr double kBelieved = 0.01;
constexpr double kLeastWeight = 0.1;

struct Part {
  std::vector<std::uint32_t> of_sample;
  std::array<double, 2> ns{};  // of an access, in the fast and the slow run
};

class Fit {
 public:
  Fit(std::vector<AccessShape> shapes, const AccessClasses& classes,
      std::span<const ClassTimes> times, const Mixture& mixture,
      std::size_t slowest)
      : model_{std::move(shapes)},
        times_(times),
        mixture_(mixture),
        tiers_{0, static_cast<std::uint16_t>(slowest)} {
    double accesses = 0;
    for (std::size_t c = 0; c < times_.size(); ++c) {
      samples_ += times_[c].samples;
      waits_told_ |= times_[c].waited_ns[1] >= 0;
      accesses_.push_back(times_[c].samples * classes.all()[c].period);
      accesses += accesses_.back();
    }
    for (double& share : accesses_) share /= std::max(accesses, 1.0);
    for (std::size_t c = 0; c < times_.size(); ++c) {
      instructions_ += accesses_[c] * model_.shapes[c].instructions;
    }
    for (std::size_t c = 0; c < model_.shapes.size(); ++c) {
      const auto& shape = model_.shapes[c];
      if (shape.store) continue;
      if (times_[c].samples <= kWorthwhile * samples_) continue;
      if (!shape.sequential && times_[c].latency[1].count > 0) told_ = true;
      free_.push_back(c);
    }
    std::sort(free_.begin(), free_.end(), [&](std::size_t a, std::size_t b) {
      return times_[a].sample_ns[1] * times_[a].samples >
             times_[b].sample_ns[1] * times_[b].samples;
    });
    cut(classes);
  }

  std::vector<AccessModel> all(const AccessClasses& classes) {
    if (free_.empty() || parts_.empty()) return {model_};
    std::vector<AccessModel> found;
    std::vector<double> offs;
    const auto first = model_.shapes;
    for (const double apart : kApart) {
      if (apart > 0 && (!told_ || apart >= instructions_)) break;
      search_all(first, apart, classes, found, offs);
    }
    return weighed(std::move(found), offs);
  }

 private:
  enum class Needed { kAsAlone, kNever, kAlways };

  // How accesses are made that come so many instructions apart.
  void search_all(const std::vector<AccessShape>& first, double apart,
                  const AccessClasses& classes, std::vector<AccessModel>& found,
                  std::vector<double>& offs) {
    double best = std::numeric_limits<double>::infinity();
    for (const std::size_t together : kTogether) {
      if (apart > 0 && together == 1) continue;  // the same
      model_ = {first, together, apart};
      begin(classes);
      // Without waits, what is far from the best start only looks as good.
      if (waits_told_) {
        for (std::size_t i = 0; i < std::min(free_.size(), kSearched); ++i) {
          search(free_[i]);
        }
      }
      double step = kFirstStep;
      for (int round = 0; round < kRounds; ++round, step *= kStepShrinks) {
        for (const std::size_t c : free_) descend(c, step);
      }
      found.push_back(model_);
      offs.push_back(least_);
      if (!told_) break;  // nothing that differs by it
      // So many only where it gets better and better.
      best = std::min(best, least_);
      if (together >= kMany && least_ > best) break;
    }
  }

  static std::vector<AccessModel> weighed(std::vector<AccessModel> found,
                                          const std::vector<double>& offs) {
    const double least = *std::min_element(offs.begin(), offs.end());
    for (std::size_t m = 0; m < found.size(); ++m) {
      found[m].weight = std::exp((least - offs[m]) / kBelieved);
    }
    std::erase_if(found, [](const AccessModel& one) {
      return one.weight < kLeastWeight;
    });
    return found;
  }

  // Parts of the mixture, one of each of so many equal stretches; not evenly,
  // for jobs repeat themselves.
  void cut(const AccessClasses& classes) {
    const auto& all = mixture_.of_sample;
    const std::size_t apart = std::max(kPartSamples, all.size() / kParts);
    Unevenly unevenly;
    for (std::size_t from = 0; from < all.size(); from += apart) {
      const std::size_t at =
          from +
          static_cast<std::size_t>(unevenly.next() *
                                   static_cast<double>(apart - kPartSamples));
      if (at >= all.size()) break;
      const std::size_t end = std::min(at + kPartSamples, all.size());
      Part part{{all.begin() + static_cast<std::ptrdiff_t>(at),
                 all.begin() + static_cast<std::ptrdiff_t>(end)},
                {}};
      double accesses = 0;
      for (const auto c : part.of_sample) {
        accesses += classes.all()[c].period;
        for (std::size_t t = 0; t < 2; ++t) {
          part.ns[t] += times_[c].sample_ns[t];
        }
      }
      for (double& ns : part.ns) ns /= accesses;
      parts_.push_back(std::move(part));
    }
  }

  // How far a core run is off: squares of logarithms.
  double off() const {
    std::array<double, 2> run{}, real{};
    std::array<std::vector<SeenAccesses>, 2> seen;
    for (std::size_t t = 0; t < 2; ++t) {
      seen[t].resize(model_.shapes.size());
      for (const Part& part : parts_) {
        MixedRun mixed(model_, mixture_.company, kPasses, seen[t]);
        for (const auto c : part.of_sample) {
          mixed.add({static_cast<std::uint16_t>(c), tiers_[t]});
        }
        run[t] += mixed.ns_per_access();
        real[t] += part.ns[t];
      }
    }
    double sum = 0;
    for (std::size_t t = 0; t < 2; ++t) {
      if (run[t] > 0 && real[t] > 0) sum += square(std::log(run[t] / real[t]));
      for (std::size_t c = 0; c < model_.shapes.size(); ++c) {
        const AccessShape& shape = model_.shapes[c];
        if (t == 0) {
          sum += times_[c].samples / samples_ *
                 (shape.sequential
                      ? (waits_told_ ? 0 : kUnneeded) * shape.needed
                      : kPlain * std::log2(static_cast<double>(shape.burst)));
        }
        const double waited = times_[c].waited_ns[t];
        if (waited >= 0 && seen[t][c].count > 0 && real[t] > 0) {
          const double each = real[t] / static_cast<double>(parts_.size());
          const double off = seen[t][c].waited / seen[t][c].count - waited;
          sum += square(accesses_[c] * off / each);
        }
        const Latencies& latency = seen[t][c].latency;
        const Latencies& told = times_[c].latency[t];
        if (latency.count <= 0 || told.count <= 0) continue;
        sum +=
            times_[c].samples / samples_ * latency_off(latency, told, t != 0);
      }
    }
    return sum;
  }

  // How often a class alone, in slow memory, must be waited for to take its
  // time.
  double needed_alone(std::size_t c, double ns) {
    double none = 0, all = 1;
    AccessShape& shape = model_.shapes[c];
    const AccessShape before = shape;
    for (int i = 0; i < kHalvings; ++i) {
      shape.needed = (none + all) / 2;
      MixedRun alone(model_, mixture_.company, kPasses);
      for (std::size_t s = 0; s < 2 * kGroup; ++s) {
        alone.add({static_cast<std::uint16_t>(c), tiers_[1]});
      }
      (alone.ns_per_access() < ns ? none : all) = shape.needed;
    }
    const double needed = shape.needed;
    shape = before;
    return needed;
  }

  // The best start: all classes with bursts of one length, and needed as if
  // alone, never, or always.
  void begin(const AccessClasses& classes) {
    for (const std::size_t c : free_) {
      if (model_.shapes[c].sequential) continue;
      model_.shapes[c].needed = needed_alone(
          c, times_[c].sample_ns[1] / std::max(1.0, classes.all()[c].period));
    }
    least_ = off();
    if (!told_) return;
    const auto first = model_.shapes;
    auto best = first;
    for (const std::size_t burst : kBursts) {
      for (const auto how :
           {Needed::kAsAlone, Needed::kNever, Needed::kAlways}) {
        for (const std::size_t c : free_) {
          if (first[c].sequential) continue;
          const double alone =
              std::min(1.0, first[c].needed * static_cast<double>(burst));
          model_.shapes[c].burst = burst;
          model_.shapes[c].needed = how == Needed::kAsAlone ? alone
                                    : how == Needed::kNever ? 0.0
                                                            : 1.0;
        }
        const double now = off();
        if (now >= least_) continue;
        least_ = now;
        best = model_.shapes;
      }
    }
    model_.shapes = best;
  }

  // All bursts of one class, the others being as they are.
  void search(std::size_t c) {
    if (model_.shapes[c].sequential) return;
    for (const std::size_t burst : kBursts) {
      for (const double needed : {0.0, 0.5, 1.0}) try_shape(c, burst, needed);
    }
  }

  void descend(std::size_t c, double step) {
    const auto burst =
        std::find(kBursts.begin(), kBursts.end(), model_.shapes[c].burst);
    const bool bursts = told_ && !model_.shapes[c].sequential;
    if (bursts && burst != kBursts.begin()) {
      try_shape(c, *(burst - 1), model_.shapes[c].needed);
    }
    if (bursts && burst + 1 != kBursts.end()) {
      try_shape(c, *(burst + 1), model_.shapes[c].needed);
    }
    for (const double by : {-step, step}) {
      try_shape(c, model_.shapes[c].burst,
                std::clamp(model_.shapes[c].needed + by, 0.0, 1.0));
    }
  }

  void try_shape(std::size_t c, std::size_t burst, double needed) {
    const AccessShape before = model_.shapes[c];
    model_.shapes[c].burst = burst;
    model_.shapes[c].needed = needed;
    const double now = off();
    if (now < least_) {
      least_ = now;
    } else {
      model_.shapes[c] = before;
    }
  }

  AccessModel model_;
  std::span<const ClassTimes> times_;
  const Mixture& mixture_;
  std::array<std::uint16_t, 2> tiers_;  // of the fast and the slow run
  std::vector<std::size_t> free_;       // classes whose shape is looked for
  std::vector<Part> parts_;
  double samples_ = 0;
  std::vector<double> accesses_;  // share of each class
  double instructions_ = 0;       // for an access, on average
  bool waits_told_ = false;       // what was waited for an access alone
  bool told_ = false;             // whether loads tell their latency
  double least_ = 0;
};

}  // namespace

std::vector<AccessModel> fit_shapes(const Trace& slow,
                                    const AccessClasses& classes,
                                    std::span<const ClassTimes> times,
                                    const Mixture& mixture,
                                    const Machine& machine) {
  double most = 1;
  for (const auto& what : classes.all()) most = std::max(most, what.period);
  auto shapes = class_shapes(classes.all(), slow, mixture.of_sample, machine);
  for (std::size_t c = 0; c < shapes.size(); ++c) {
    shapes[c].weight = classes.all()[c].period / most;
  }
  return Fit(std::move(shapes), classes, times, mixture,
             machine.tiers.size() - 1)
      .all(classes);
}

}  // namespace thermocline
