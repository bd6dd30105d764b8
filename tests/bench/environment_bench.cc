// How many steps a second an agent's environment makes on one core, on the
// traces that ship: alone, with what decides by rule (features, greedy,
// packed), and with a network that decides. Items are steps; a step is one
// decision over all objects of a job and the time that follows
// (agent/environment.h). What learning takes besides: `thermocline train
// --json`, decisions_per_s.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/evaluation.h"
#include "agent/trace_worlds.h"
#include "agent/training_options.h"
#include "policies/packing.h"

namespace thermocline {
namespace {

const std::vector<World>& worlds() {
  static const std::vector<World> all = [] {
    std::vector<std::string> paths;
    for (const auto& file :
         std::filesystem::directory_iterator(SAMPLES_FOLDER)) {
      const auto path = file.path().string();
      if (path.ends_with(".slow.trace") || path.ends_with(".fast.trace")) {
        paths.push_back(path);
      }
    }
    std::ranges::sort(paths);
    // As training cuts them (TrainingOptions).
    Differential::Options cut;
    cut.windows = TrainingOptions().windows;
    cut.region_bytes = static_cast<Bytes>(TrainingOptions().region_kib) << 10;
    auto read = load_worlds(paths, cut);
    CHECK(read.has_value());
    return std::move(read->worlds);
  }();
  return all;
}

void play_all(benchmark::State& state, const Scorer& scorer) {
  std::int64_t steps = 0;
  std::int64_t objects = 0;
  for (auto _ : state) {
    for (const World& world : worlds()) {
      Episode episode;
      benchmark::DoNotOptimize(play(world, episode, scorer, pack_full, 0));
      const auto made = static_cast<std::int64_t>(episode.steps(world));
      steps += made;
      objects += made * static_cast<std::int64_t>(world.bytes.size());
    }
  }
  state.SetItemsProcessed(steps);
  state.counters["objects_per_step"] =
      static_cast<double>(objects) / static_cast<double>(steps);
}

void environment_alone(benchmark::State& state) { play_all(state, {}); }
BENCHMARK(environment_alone)->Unit(benchmark::kMillisecond);

void decided_by_rule(benchmark::State& state) {
  play_all(state, greedy_scorer());
}
BENCHMARK(decided_by_rule)->Unit(benchmark::kMillisecond);

void decided_by_network(benchmark::State& state) {
  const auto agent = Agent::load(SHIPPED_AGENT);
  CHECK(agent.has_value());
  play_all(state, [&](const FeatureTracker& seen, const View&,
                      std::vector<double>& score) {
    agent->score(seen.features(), score);
  });
}
BENCHMARK(decided_by_network)->Unit(benchmark::kMillisecond);

// What a decision for so many regions costs, but for packing: goal 5 ms. A
// tenth of them are accessed in a window.
void features_of_100000_regions(benchmark::State& state) {
  std::vector<ObjectView> objects(100'000);
  std::mt19937_64 random(7);
  const Bytes all = objects.size() << 18;
  const std::vector<TierView> tiers = {{all / 2, all / 2, 100, 100, 6e9, 5e9},
                                       {all, all / 2, 305, 305, 2e9, 5e8}};
  for (ObjectId i = 0; i < objects.size(); ++i) {
    objects[i] = {i, 1 << 18, static_cast<TierId>(i % 2), 0, 0, true};
  }
  FeatureTracker tracker;
  for (auto _ : state) {
    state.PauseTiming();
    for (ObjectView& one : objects) one.loads = one.stores = 0;
    for (int i = 0; i < 10'000; ++i) {
      objects[random() % 317 * (random() % 317)].loads += 199;
    }
    state.ResumeTiming();
    tracker.update({0, 1'000'000'000, 1 << 28, objects, tiers});
  }
}
BENCHMARK(features_of_100000_regions)->Unit(benchmark::kMillisecond);

void scores_of_100000_regions(benchmark::State& state) {
  const auto agent = Agent::load(SHIPPED_AGENT);
  CHECK(agent.has_value());
  std::vector<float> rows(100'000 * kFeatures);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<float>(i * 7919 % 1000) / 1000;
  }
  std::vector<double> score;
  for (auto _ : state) benchmark::DoNotOptimize(agent->score(rows, score));
}
BENCHMARK(scores_of_100000_regions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
