// Learning while the job runs: what is learned from, who decides, how soon.
#include "agent/online.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "agent/agent.h"
#include "agent/dqn.h"
#include "agent/evaluation.h"
#include "agent/fine_tuner.h"
#include "agent/trainer.h"
#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

constexpr std::size_t kIteration = 4;  // windows

// A job whose iterations touch one half of its objects, and from `swap` on the
// other half; four windows make an iteration, each with a quarter of them.
World swapping_job(std::size_t iterations, std::size_t swap) {
  constexpr std::size_t kHalf = 24;
  World world = empty_world(2 * kHalf, 2e4);
  for (std::size_t w = 0; w < iterations * kIteration; ++w) {
    const std::size_t from = w / kIteration < swap ? 0 : kHalf;
    World::Window window{3e6, 1e6, {}};
    for (std::size_t i = 0; i < kHalf; ++i) {
      const bool now = i % kIteration == w % kIteration;
      window.accesses.push_back({static_cast<ObjectId>(from + i),
                                 now ? 90.0 : 4.0, now ? 20.0 : 0.0, 0});
    }
    double sum = 0;
    for (auto& one : window.accesses) {
      one.cost = one.loads + 2 * one.stores;
      sum += one.cost;
    }
    for (auto& one : window.accesses) one.cost /= sum;
    world.windows.push_back(window);
  }
  return world;
}

std::vector<float> untrained(std::uint64_t seed) {
  return Dqn(TrainingOptions(), seed).weights();
}

std::vector<float> trained() {
  TrainingOptions options;
  options.episodes = 24;
  options.frame_objects = 32;
  options.batch_frames = 8;
  options.evaluate_every = 8;
  Trainer trainer({training_job(1, 30)}, options, 1, pack_full);
  while (!trainer.done()) trainer.run_episode();
  return trainer.best({}).weights();
}

// The job under an agent that learns on, `pieces` of work in each window, as
// the policy does it (policies/learned.cc); the time of each iteration.
std::vector<double> run(const World& world, std::vector<float> weights,
                        int pieces, Verdict* last = nullptr,
                        OnlineLearner::Counts* counts = nullptr) {
  OnlineLearner learner(weights, weights, {}, pack_full);
  Agent agent(TrainingOptions().hidden, weights, {});
  Environment environment(world, {});
  FeatureTracker seen;
  std::vector<double> score;
  std::vector<double> ends = {0};
  for (std::size_t window = 1;; ++window) {
    const View& view = environment.view();
    seen.update(view);
    learner.see(SeenWindow::of(view));
    for (int i = 0; i < pieces && learner.work(); ++i) continue;
    if (auto news = learner.verdict()) {
      agent.set_weights(news->weights);
      if (last != nullptr) *last = *news;
    }
    if (window % kIteration == 0) ends.push_back(environment.time_ns());
    if (environment.done()) break;
    agent.score(seen.features(), score);
    environment.step(pack_full(view, score, 0));
  }
  if (counts != nullptr) *counts = learner.counts();
  std::vector<double> out;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    out.push_back(ends[i] - ends[i - 1]);
  }
  return out;
}

double mean(const std::vector<double>& all, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += all[i];
  return sum / static_cast<double>(to - from);
}

TEST(Online, AdaptsWithinThreeIterationsToAChangedHotSet) {
  const auto times = run(swapping_job(24, 14), trained(), 30);
  ASSERT_EQ(times.size(), 24U);
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::printf("iteration %2zu: %.2f ms%s\n", i, times[i] / 1e6,
                i == 14 ? " (the hot set has changed)" : "");
  }
  const double before = mean(times, 10, 14);
  const double all_slow = 4 * 3e6;
  EXPECT_LT(before, 0.6 * all_slow);
  // Of what the change cost, nine tenths are won back from the fourth
  // iteration on.
  EXPECT_LT(mean(times, 17, 24) - before, 0.1 * (all_slow - before));
}

TEST(Online, LearningPaysOrIsRolledBack) {
  const World world = swapping_job(24, 24);
  const auto base = untrained(5);
  const double still = mean(run(world, base, 0), 12, 24);
  OnlineLearner::Counts counts;
  const double learning = mean(run(world, base, 60, nullptr, &counts), 12, 24);
  EXPECT_LE(learning, still * 1.01);
  EXPECT_GT(counts.decisions, 100U);
}

TEST(Online, SameWindowsSameBits) {
  const World world = swapping_job(12, 6);
  Verdict one;
  Verdict two;
  const auto times = run(world, untrained(3), 30, &one);
  EXPECT_EQ(times, run(world, untrained(3), 30, &two));
  EXPECT_EQ(one, two);
}

TEST(Recent, ModelsWhatWasSeen) {
  const World world = swapping_job(6, 6);
  Environment environment(world, {});
  Recent recent(8);
  recent.add(SeenWindow::of(environment.view()));
  while (!environment.done()) {
    environment.step({});
    recent.add(SeenWindow::of(environment.view()));
  }
  EXPECT_EQ(recent.windows(), 8U);
  EXPECT_NEAR(recent.capacity(), 0.5, 0.01);
  EXPECT_NEAR(recent.cold(), 0, 1e-9);
  const World made = recent.world();
  ASSERT_TRUE(Trainer::check_worlds({made}).has_value());
  EXPECT_EQ(made.windows.size(), 8U);
  EXPECT_EQ(made.footprint(), world.footprint());
  // As the job ran, half of it in fast memory, so it is modelled to run.
  Episode episode;
  episode.capacity = 0.5;
  for (const auto& window : made.windows) {
    EXPECT_GT(window.slow_ns, window.fast_ns);
    EXPECT_GT(window.fast_ns, 0);
    double sum = 0;
    for (const auto& one : window.accesses) sum += one.cost;
    EXPECT_NEAR(sum, 1, 1e-9);
  }
}

// Nothing was touched, tiers say nothing: still a world, or none at all.
TEST(Recent, SurvivesEmptyWindows) {
  const std::vector<TierView> tiers(2);
  std::vector<ObjectView> objects(3);
  for (ObjectId i = 0; i < 3; ++i) objects[i].id = i;
  View view;
  view.objects = objects;
  view.tiers = tiers;
  OnlineLearner learner(untrained(1), untrained(1), {}, pack_full);
  for (int i = 0; i < 20; ++i) {
    view.window = i;
    learner.see(SeenWindow::of(view));
    for (int k = 0; k < 40 && learner.work(); ++k) continue;
  }
  objects[1].bytes = 4096;
  objects[1].loads = 3;
  for (int i = 0; i < 20; ++i) {
    learner.see(SeenWindow::of(view));
    for (int k = 0; k < 40 && learner.work(); ++k) continue;
  }
  if (const auto verdict = learner.verdict()) {
    EXPECT_EQ(verdict->weights.size(), untrained(1).size());
  }
}

class StateFile : public testing::Test {
 protected:
  void TearDown() override {
    unlink(path_.c_str());
    unlink((path_ + ".refused").c_str());
  }
  std::string path_ =
      testing::TempDir() + "online." + std::to_string(getpid()) + ".state";
};

TEST_F(StateFile, ComesBackAsItWasOrIsRefused) {
  const OnlineState state{7, untrained(2)};
  ASSERT_TRUE(state.save(path_).has_value());
  EXPECT_EQ(*OnlineState::load(path_), state);
  std::string bytes;
  std::getline(std::ifstream(path_), bytes, '\0');
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 0x11);
    std::ofstream(path_) << other;
    const auto read = OnlineState::load(path_);
    // A digit of `base` alone is not in the checksum.
    EXPECT_TRUE(!read || read->weights == state.weights) << at;
    std::ofstream(path_) << bytes.substr(0, at);
    EXPECT_FALSE(OnlineState::load(path_).has_value()) << at;
  }
}

// A thread of its own; what it learned is there after a restart.
TEST_F(StateFile, OutlivesARestart) {
  const World world = swapping_job(8, 8);
  const auto base = untrained(4);
  FineTuner::Options options;
  options.share = 1;
  options.state = path_;
  options.learning.lessons = 1;
  Verdict verdict;
  {
    FineTuner tuner(base, options, pack_full);
    Environment environment(world, {});
    while (tuner.counts().learning.verdicts < 2) {
      tuner.see(environment.view());
      if (!environment.done()) environment.step({});
      usleep(1000);
      if (auto news = tuner.verdict()) verdict = *news;
    }
  }
  const auto state = OnlineState::load(path_);
  ASSERT_TRUE(state.has_value()) << state.error().message;
  EXPECT_EQ(state->weights.size(), base.size());
  FineTuner again(base, options, pack_full);
  const auto first = again.verdict();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->weights, state->weights);
  // What it says that it has learned is as good as the file, and goes first.
  EXPECT_EQ(*OnlineState::parse(again.learned(), "it"), *state);
  auto other = *state;
  other.weights[0] += 1;
  options.from = other;
  FineTuner third(base, options, pack_full);
  EXPECT_EQ(third.verdict()->weights, other.weights);
  // Unless it is another agent's.
  other.base += 1;
  options.from = other;
  FineTuner fourth(base, options, pack_full);
  EXPECT_EQ(fourth.verdict()->weights, state->weights);
  EXPECT_EQ(fourth.counts().states_refused, 1U);
}

TEST_F(StateFile, OfAnotherAgentIsSetAside) {
  ASSERT_TRUE((OnlineState{1, untrained(2)}).save(path_).has_value());
  FineTuner::Options options;
  options.state = path_;
  FineTuner tuner(untrained(3), options, pack_full);
  EXPECT_FALSE(tuner.verdict().has_value());
  EXPECT_EQ(tuner.counts().states_refused, 1U);
  EXPECT_TRUE(OnlineState::load(path_ + ".refused").has_value());
}

}  // namespace
}  // namespace thermocline
