#include "agent/ppo.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "agent/features.h"
#include "agent/trainer.h"
#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

TrainingOptions options() {
  TrainingOptions out;
  out.algorithm = "ppo";
  out.learning_rate = 3e-3;
  out.gamma = 0.5;
  return out;
}

// Two objects whose characteristics say nothing but where they lie.
std::vector<float> rows(float intensity) {
  std::vector<float> out(2 * kFeatures, 0);
  for (const std::size_t i : {0, 1}) {
    float* row = &out[i * kFeatures];
    row[kLongLoads] = i == 0 ? 1.0F : 0.0F;
    row[kSlowness] = 1;
    row[kIntensity] = intensity;
    row[kCapacity] = 0.5;
  }
  return out;
}

std::vector<double> scores(Learner& learner, float intensity) {
  std::vector<double> out;
  learner.score(rows(intensity), out);
  return out;
}

// One decision; its reward is what `reward` makes of the scores.
void play(Ppo& learner, float intensity, bool last,
          double (*reward)(const std::vector<double>&, float)) {
  std::vector<double> tried;
  learner.explore(rows(intensity), 0, tried);
  Frame frame;
  frame.last = last ? 1 : 0;
  frame.reward = static_cast<float>(reward(tried, intensity));
  learner.remember(frame);
}

void practise(Ppo& learner, int decisions,
              double (*reward)(const std::vector<double>&, float)) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < decisions; ++i) {
    play(learner, static_cast<float>(rng() % 2), i % 16 == 15, reward);
    learner.learn(static_cast<double>(i) / decisions);
  }
}

// What was accessed is hot at first; one job wants it so, another not, and the
// network tells them apart by what is alike for all objects.
TEST(Ppo, LearnsWhatMakesHeatForTheJobAtHand) {
  Ppo learner(options(), 1);
  const auto before = scores(learner, 0);
  EXPECT_GT(before[0], before[1]);
  practise(learner, 4000, [](const std::vector<double>& score, float job) {
    const double difference = score[0] - score[1];
    const double wanted = job > 0 ? 2 : -1;
    return -std::abs(difference - wanted);
  });
  const auto one = scores(learner, 0);
  const auto other = scores(learner, 1);
  EXPECT_NEAR(one[0] - one[1], -1, 0.5);
  EXPECT_NEAR(other[0] - other[1], 2, 0.5);
}

TEST(Ppo, SameSeedSameBits) {
  const auto learned = [](std::uint64_t seed) {
    Ppo learner(options(), seed);
    practise(learner, 100,
             [](const std::vector<double>& score, float) { return score[0]; });
    return learner.weights();
  };
  EXPECT_EQ(learned(1), learned(1));
  EXPECT_NE(learned(1), learned(2));
}

TEST(Ppo, TheHookDecidesWhatIsApplied) {
  Ppo learner(options(), 1);
  int calls = 0;
  learner.set_gradient_hook([&](std::span<float> all) {
    ++calls;
    std::ranges::fill(all, 0.0F);
  });
  learner.learn(0);  // while there is nothing to learn from, too
  const auto before = learner.weights();
  practise(learner, 40,
           [](const std::vector<double>& score, float) { return score[0]; });
  EXPECT_EQ(calls, 41);
  EXPECT_EQ(learner.weights(), before);
}

TEST(Ppo, NoObjectsNoScores) {
  Ppo learner(options(), 1);
  std::vector<double> out{1};
  learner.score({}, out);
  EXPECT_TRUE(out.empty());
}

// As in trainer_test, of which this is the other algorithm.
TEST(Ppo, ResumedEqualsUninterrupted) {
  const std::string path =
      testing::TempDir() + "ppo." + std::to_string(getpid()) + ".checkpoint";
  auto given = toy_options(14);
  given.algorithm = "ppo";
  const std::vector<World> worlds = {training_job(1, 30), training_job(2, 30)};
  Trainer whole(worlds, given, 7, pack_full);
  while (!whole.done()) whole.run_episode();
  {
    Trainer first(worlds, given, 7, pack_full);
    while (first.episode() < 6) first.run_episode();
    ASSERT_TRUE(first.checkpoint(path).has_value());
  }
  auto second = Trainer::resume(path, worlds, pack_full);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  while (!second->done()) second->run_episode();
  EXPECT_EQ(second->best({}).weights(), whole.best({}).weights());
  ::unlink(path.c_str());
}

// The agent that it makes is one like any other: scores as the learner did,
// from its file, too.
TEST(Ppo, ItsAgentGoesThroughAFile) {
  const std::string path =
      testing::TempDir() + "ppo." + std::to_string(getpid()) + ".pt";
  auto given = toy_options(8);
  given.algorithm = "ppo";
  Trainer trainer({training_job(1, 30)}, given, 7, pack_full);
  while (!trainer.done()) trainer.run_episode();
  const Agent agent = trainer.best({});
  ASSERT_TRUE(agent.save(path).has_value());
  const auto loaded = Agent::load(path);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  std::vector<double> one, other;
  agent.score(rows(1), one);
  loaded->score(rows(1), other);
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.size(), 2u);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace thermocline
