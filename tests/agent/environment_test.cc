#include "agent/environment.h"

#include <gtest/gtest.h>

#include "agent/evaluation.h"
#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

double played(const World& world, Episode::Start start) {
  Episode episode;
  episode.start = start;
  return play(world, episode, nullptr, pack_full, 0).time_ns;
}

TEST(Environment, EndpointsAreTheWorlds) {
  const World world = training_job(3);
  EXPECT_NEAR(played(world, Episode::Start::kSlow), world.slow_ns(), 1);
  EXPECT_NEAR(played(world, Episode::Start::kFast), world.fast_ns(), 1);
}

// What is seen of waits is that of where an object lies.
TEST(Environment, WaitsAreThoseOfTheTier) {
  World world = toy_world(2, 3, 5e5, [](auto) {
    return std::vector<ObjectId>{0, 1};
  });
  for (auto& window : world.windows) window.waits = {{0, 9, 3}, {1, 90, 30}};
  Environment environment(world, {});  // object 1 does not fit
  EXPECT_EQ(environment.view().objects[0].waited, 3);
  EXPECT_EQ(environment.view().objects[1].waited, 90);
  environment.step(std::vector<Move>{{0, 0, 1}, {1, 1, 0}});
  EXPECT_EQ(environment.view().objects[0].waited, 9);
  EXPECT_EQ(environment.view().objects[1].waited, 30);
}

TEST(Environment, BoundsAreInOrder) {
  const World world = training_job(3);
  const double slow = played(world, Episode::Start::kSlow);
  const double touch = played(world, Episode::Start::kFirstTouch);
  const double best = played(world, Episode::Start::kBest);
  const double fast = played(world, Episode::Start::kFast);
  EXPECT_GT(slow, touch);
  EXPECT_GT(touch, best);
  EXPECT_GT(best, fast);
}

TEST(Environment, RewardIsTimeAndMovesInSharesOfTheAllSlowTime) {
  // Both objects are used; object 1 does not fit at first.
  const World world = toy_world(2, 3, 5e5, [](auto) {
    return std::vector<ObjectId>{0, 1};
  });
  Environment environment(world, {});
  EXPECT_DOUBLE_EQ(environment.time_ns(), 2e6);
  const std::vector<Move> moves = {{0, 0, 1}, {1, 1, 0}};
  EXPECT_DOUBLE_EQ(environment.step(moves), -(2e6 + 2 * 5e5) / 9e6);
  EXPECT_DOUBLE_EQ(environment.moved_bytes(), 2.0 * kToyBytes);
  EXPECT_DOUBLE_EQ(environment.step({}), -2e6 / 9e6);
  EXPECT_TRUE(environment.done());
  EXPECT_DOUBLE_EQ(environment.reward(), -7e6 / 9e6);
}

TEST(Environment, GapsFallApartByObject) {
  const World world = training_job(3);
  Episode episode;
  episode.group = 3;
  Environment environment(world, episode);
  double expected = 0;
  while (true) {
    for (const ObjectView& object : environment.view().objects) {
      expected += environment.gap_ns()[object.id] * world.slowness[object.tier];
    }
    EXPECT_NEAR(environment.time_ns(), environment.fast_ns() + expected, 10);
    if (environment.done()) break;
    environment.step({});
  }
}

TEST(Environment, FirstTouchFillsFastMemoryAndNoMore) {
  const World world = training_job(3);
  Environment environment(world, {});
  while (true) {
    const TierView& fast = environment.view().tiers[0];
    EXPECT_LE(fast.used, fast.capacity);
    if (environment.done()) break;
    environment.step({});
  }
  EXPECT_EQ(environment.view().tiers[0].used,
            environment.view().tiers[0].capacity);
  // Cold data came first.
  EXPECT_EQ(environment.view().objects[10].tier, 0);
}

TEST(Environment, ThinningKeepsTheMean) {
  const World world = training_job(3);
  Episode episode;
  episode.keep = 0.3;
  double all = 0;
  double seen = 0;
  Environment environment(world, episode);
  for (const auto& window : world.windows) {
    for (const auto& access : window.accesses) all += access.loads;
  }
  while (true) {
    for (const auto& object : environment.view().objects) seen += object.loads;
    if (environment.done()) break;
    environment.step({});
  }
  EXPECT_NEAR(seen / all, 1, 0.05);
}

TEST(Environment, RandomEpisodesAreLegalAndRepeat) {
  const World world = training_job(3);
  std::mt19937_64 rng(5);
  for (int i = 0; i < 50; ++i) {
    const Episode episode = Episode::random(world, 0, 45, rng, rng);
    const auto one = play(world, episode, greedy_scorer(), pack_full, 0.2);
    const auto two = play(world, episode, greedy_scorer(), pack_full, 0.2);
    EXPECT_EQ(one.time_ns, two.time_ns);
    EXPECT_EQ(one.moved_bytes, two.moved_bytes);
    EXPECT_GT(one.time_ns, 0);
  }
}

}  // namespace
}  // namespace thermocline
