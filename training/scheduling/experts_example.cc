// experts_example: a mixture of experts that trains on whichever rank is free.
//
// How many samples an expert gets, the router decides at each step, and its
// favourites change; how often the expert goes over them depends on what it
// still gets wrong. Neither is known before the step. Against the best
// assignment of experts to ranks that is fixed for the whole run, found by
// trying all of them on the loads that were measured: no static one is better.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>

#include "training/ranks/job.h"
#include "training/ranks/thread_ranks.h"
#include "training/scheduling/load_model.h"
#include "training/scheduling/wave.h"

namespace thermocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kExperts = 10;
constexpr std::size_t kFeatures = 16;
using Weights = std::vector<float>;

struct Settings {
  int ranks = 4;
  int steps = 40;
  std::size_t samples = 512;  // of a step
  double pace = 1e-4;         // seconds that a sample takes, as on a device
  double target = 0.02;       // mean squared error; the noise's is 0.0025
  bool check = false;
};

struct Sample {
  Weights features;
  float value = 0;
};

// What the router gives each expert at the step. What an expert has to learn
// changes too, at one step in five.
std::vector<std::vector<Sample>> routed(const Settings& settings, int step) {
  std::vector<Weights> truth(kExperts, Weights(kFeatures));
  for (std::size_t e = 0; e < kExperts; ++e) {
    std::mt19937 changes(static_cast<unsigned>(e));
    unsigned since = 0;
    for (int at = 1; at <= step; ++at) since += changes() % 5 == 0 ? 1 : 0;
    std::mt19937 rng(1000 * since + static_cast<unsigned>(e));
    std::normal_distribution<float> normal;
    for (float& one : truth[e]) one = normal(rng);
  }
  std::mt19937 rng(static_cast<unsigned>(step) + 77);
  std::normal_distribution<float> normal;
  std::vector<double> liked(kExperts);
  for (std::size_t e = 0; e < kExperts; ++e) {
    const auto place = (e + static_cast<std::size_t>(step) / 5 * 3) % kExperts;
    liked[e] = 1.0 / std::sqrt(static_cast<double>(place + 1));
  }
  std::discrete_distribution<std::size_t> router(liked.begin(), liked.end());
  std::vector<std::vector<Sample>> out(kExperts);
  for (std::size_t i = 0; i < settings.samples; ++i) {
    const std::size_t e = router(rng);
    Sample one{Weights(kFeatures), 0.05F * normal(rng)};
    for (std::size_t k = 0; k < kFeatures; ++k) {
      one.features[k] = normal(rng);
      one.value += truth[e][k] * one.features[k];
    }
    out[e].push_back(std::move(one));
  }
  return out;
}

// Goes over the samples until they are learned; returns how often.
int train(Weights& weights, const std::vector<Sample>& samples,
          float& last_error) {
  constexpr int kMost = 20;
  for (int trip = 1;; ++trip) {
    last_error = 0;
    for (const Sample& one : samples) {
      float miss = one.value;
      for (std::size_t k = 0; k < kFeatures; ++k) {
        miss -= weights[k] * one.features[k];
      }
      for (std::size_t k = 0; k < kFeatures; ++k) {
        weights[k] += 0.02F * miss * one.features[k];
      }
      last_error += miss * miss;
    }
    if (trip == kMost ||
        last_error < 0.005F * static_cast<float>(samples.size())) {
      return trip;
    }
  }
}

struct Outcome {
  std::vector<float> losses;                // of each step, after training
  std::vector<std::vector<double>> actual;  // seconds, of each step and expert
  double seconds = 0;
  double planned = 0;  // the same without what barriers and windows cost
  double moved = 0;    // operators taken from others
};

// An expert's weights lie with one rank; who runs it fetches and returns them.
class Experts {
 public:
  static Result<Experts> make(Ranks& ranks) {
    auto window = ranks.window(kExperts * kFeatures * sizeof(float));
    if (!window) return window.error();
    return Experts(ranks, *std::move(window));
  }
  Status run(const Settings& settings, std::size_t expert,
             const std::vector<Sample>& samples, float& error, float& seconds) {
    if (samples.empty()) return {};
    Weights weights(kFeatures);
    const int home = static_cast<int>(expert) % ranks_->size();
    const std::size_t at = expert * kFeatures * sizeof(float);
    window_->get(home, at, std::as_writable_bytes(std::span(weights)));
    if (auto ok = window_->flush(); !ok) return ok;
    const int trips = train(weights, samples, error);
    seconds = static_cast<float>(settings.pace * trips *
                                 static_cast<double>(samples.size()));
    const std::chrono::duration<double> device(seconds);
    std::this_thread::sleep_for(device);
    window_->put(home, at, bytes_of(weights));
    return window_->flush();
  }

 private:
  Experts(Ranks& ranks, std::unique_ptr<Window> window)
      : ranks_(&ranks), window_(std::move(window)) {}
  Ranks* ranks_;
  std::unique_ptr<Window> window_;
};

// `fixed`: the rank of each expert; empty: by measured load, wave by wave.
Result<Outcome> run_experts(Ranks& ranks, const Settings& settings,
                            const std::vector<int>& fixed) {
  auto experts = Experts::make(ranks);
  if (!experts) return experts.error();
  auto wave = Wave::make(ranks);
  if (!wave) return wave.error();
  LoadModel loads;
  Outcome out;
  for (int step = 0; step < settings.steps; ++step) {
    const auto work = routed(settings, step);
    std::vector<double> expected;
    for (std::size_t e = 0; e < kExperts; ++e) {
      expected.push_back(loads.expected(std::to_string(e),
                                        static_cast<double>(work[e].size())));
    }
    // Seconds and errors of what this rank runs; 0 of the rest.
    std::vector<float> found(2 * kExperts, 0.0F);
    Status failed;
    const auto run = [&](std::size_t e) {
      auto ok =
          experts->run(settings, e, work[e], found[kExperts + e], found[e]);
      if (!ok) failed = ok;
    };
    if (auto ok = ranks.barrier(); !ok) return ok.error();
    const auto from = Clock::now();
    if (fixed.empty()) {
      const auto stats = wave->run(expected, run);
      if (!stats) return stats.error();
      out.moved += static_cast<double>(stats->taken_from_others);
    } else {
      for (std::size_t e = 0; e < kExperts; ++e) {
        if (fixed[e] == ranks.rank()) run(e);
      }
      if (auto ok = ranks.barrier(); !ok) return ok.error();
    }
    out.seconds += std::chrono::duration<double>(Clock::now() - from).count();
    if (!failed) return failed.error();
    if (auto ok = ranks.sum(found); !ok) return ok.error();
    auto& actual = out.actual.emplace_back();
    float loss = 0;
    for (std::size_t e = 0; e < kExperts; ++e) {
      actual.push_back(static_cast<double>(found[e]));
      loads.measured(std::to_string(e), static_cast<double>(work[e].size()),
                     actual.back());
      loss += found[kExperts + e];
    }
    out.planned += simulate_wave(plan_wave(expected, ranks.size()), expected,
                                 actual, true);
    out.losses.push_back(loss / static_cast<float>(settings.samples));
  }
  std::vector<float> moved{static_cast<float>(out.moved)};
  if (auto ok = ranks.sum(moved); !ok) return ok.error();
  out.moved = static_cast<double>(moved[0]);
  return out;
}

// Of all assignments the one with the least sum of the steps' longest ranks.
std::pair<std::vector<int>, double> best_static(const Outcome& run, int ranks) {
  std::size_t count = 1;  // the first is with rank 0: ranks are alike
  for (std::size_t e = 1; e < kExperts; ++e) {
    count *= static_cast<std::size_t>(ranks);
  }
  std::pair<std::vector<int>, double> best{{}, 1e300};
  std::vector<int> assigned(kExperts);
  std::vector<double> load(static_cast<std::size_t>(ranks));
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t e = 1, rest = n; e < kExperts; ++e) {
      assigned[e] = static_cast<int>(rest % load.size());
      rest /= load.size();
    }
    double sum = 0;
    for (const auto& step : run.actual) {
      std::fill(load.begin(), load.end(), 0.0);
      for (std::size_t e = 0; e < kExperts; ++e) {
        load[static_cast<std::size_t>(assigned[e])] += step[e];
      }
      sum += *std::max_element(load.begin(), load.end());
      if (sum >= best.second) break;
    }
    if (sum < best.second) best = {assigned, sum};
  }
  return best;
}

// No schedule is shorter: the longest expert, or all shared out evenly.
double bound(const Outcome& run, int ranks) {
  double out = 0;
  for (const auto& step : run.actual) {
    double sum = 0;
    for (const double one : step) sum += one;
    out += std::max(sum / ranks, *std::max_element(step.begin(), step.end()));
  }
  return out;
}

Result<bool> compare(Ranks& ranks, const Settings& settings) {
  const auto dynamic = run_experts(ranks, settings, {});
  if (!dynamic) return dynamic.error();
  const auto [assigned, planned] = best_static(*dynamic, ranks.size());
  const auto fixed = run_experts(ranks, settings, assigned);
  if (!fixed) return fixed.error();
  if (ranks.rank() != 0) return true;
  Settings unpaced = settings;
  unpaced.pace = 0;
  const auto alone = single_rank();
  const auto serial = run_experts(*alone, unpaced, {});
  if (!serial) return serial.error();
  const bool same =
      dynamic->losses == serial->losses && fixed->losses == serial->losses;
  const double least = bound(*dynamic, ranks.size());
  std::printf(
      "%d ranks, %zu experts, %d steps: error %.4f after the last, %s\n"
      "%-22s %8s %8s\n%-22s %8s %8.3f\n%-22s %8.3f %8.3f\n"
      "%-22s %8.3f %8.3f\n"
      "dynamic takes %.2f of the best static (its loads alone: %.2f); %.0f "
      "operators moved\n",
      ranks.size(), kExperts, settings.steps,
      static_cast<double>(serial->losses.back()),
      same ? "the same bits in all runs" : "DIFFERENT between runs", "makespan",
      "s", "loads, s", "no schedule is below", "", least, "best static",
      fixed->seconds, planned, "dynamic", dynamic->seconds, dynamic->planned,
      dynamic->seconds / fixed->seconds, dynamic->planned / planned,
      dynamic->moved);
  return same && static_cast<double>(serial->losses.back()) <= settings.target;
}

}  // namespace
}  // namespace thermocline

int main(int argc, char** argv) {
  using thermocline::Ranks;
  thermocline::Settings settings;
  CLI::App app{"A mixture of experts, scheduled by measured load."};
  app.add_option("--ranks", settings.ranks, "ranks without mpirun")
      ->check(CLI::Range(1, 6));
  app.add_option("--steps", settings.steps)->check(CLI::Range(1, 100000));
  app.add_option("--samples", settings.samples, "of a step")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--pace", settings.pace, "seconds that a sample takes")
      ->check(CLI::Range(0., 1.));
  app.add_option("--target", settings.target,
                 "mean squared error after the last step")
      ->check(CLI::Range(0., 1.));
  app.add_flag("--check", settings.check,
               "fail unless the target is reached, with the same bits in all");
  CLI11_PARSE(app, argc, argv);
  int failed = 0;
  const auto ended = thermocline::run_job(settings.ranks, [&](Ranks& ranks) {
    const auto good = thermocline::compare(ranks, settings);
    if (!good) {
      std::fprintf(stderr, "experts_example: rank %d: %s\n", ranks.rank(),
                   good.error().message.c_str());
    }
    if (ranks.rank() == 0 && (!good || (settings.check && !*good))) failed = 1;
  });
  if (ended) return failed;
  std::fprintf(stderr, "experts_example: %s\n", ended.error().message.c_str());
  return 1;
}
