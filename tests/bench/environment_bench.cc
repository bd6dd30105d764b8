// How many steps a second an agent's environment makes on one core, on the
// traces that ship: alone, with what decides by rule (features, greedy,
// packed), and with a network that decides. Items are steps; a step is one
// decision over all objects of a job and the time that follows
// (agent/environment.h). What learning takes besides: `thermocline train
// --json`, decisions_per_s.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
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

// A job of so many regions, of which a tenth is accessed in a window.
class ManyRegions {
 public:
  ManyRegions() : objects_(100'000), random_(7) {
    const Bytes all = objects_.size() << 18;
    tiers_ = {{all / 2, all / 2, 100, 100, 6e9, 5e9},
              {all, all / 2, 305, 305, 2e9, 5e8}};
    for (ObjectId i = 0; i < objects_.size(); ++i) {
      objects_[i] = {
          .id = i, .bytes = 1 << 18, .tier = static_cast<TierId>(i % 2)};
    }
  }
  View next() {
    for (ObjectView& one : objects_) one.loads = one.stores = 0;
    for (int i = 0; i < 10'000; ++i) {
      objects_[random_() % 317 * (random_() % 317)].loads += 199;
    }
    return {0, 1'000'000'000, 1 << 28, objects_, tiers_};
  }

 private:
  std::vector<ObjectView> objects_;
  std::vector<TierView> tiers_;
  std::mt19937_64 random_;
};

// What a decision for so many regions costs, in its parts and whole: goal 5 ms.
void decision_for_100000_regions(benchmark::State& state, bool scores) {
  std::optional<Result<Agent>> agent;
  if (scores) agent = Agent::load(SHIPPED_AGENT);
  CHECK(!agent || agent->has_value());
  ManyRegions job;
  FeatureTracker tracker;
  Foretold kept;
  std::vector<double> score;
  double due = 0;
  const auto decide = [&](const View& view) {
    tracker.update(view);
    if (!agent) return;
    (*agent)->score(tracker.features(), tracker.due(), kept, score);
  };
  for (int i = 0; i < 10; ++i) decide(job.next());  // all is new at first
  for (auto _ : state) {
    state.PauseTiming();
    const View view = job.next();
    state.ResumeTiming();
    decide(view);
    due += static_cast<double>(tracker.due().size());
  }
  state.counters["rows"] =
      benchmark::Counter(due, benchmark::Counter::kAvgIterations);
}
BENCHMARK_CAPTURE(decision_for_100000_regions, features_alone, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decision_for_100000_regions, features_and_scores, true)
    ->Unit(benchmark::kMillisecond);

void whole_decision_for_100000_regions(benchmark::State& state) {
  const auto policy =
      Registry<Policy>::make("policy", "learned", {{"agent", SHIPPED_AGENT}});
  CHECK(policy.has_value());
  ManyRegions job;
  for (int i = 0; i < 10; ++i) (*policy)->decide(job.next());
  for (auto _ : state) {
    state.PauseTiming();
    const View view = job.next();
    state.ResumeTiming();
    benchmark::DoNotOptimize((*policy)->decide(view));
  }
}
BENCHMARK(whole_decision_for_100000_regions)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thermocline

BENCHMARK_MAIN();
