#include "agent/clairvoyant.h"

#include <gtest/gtest.h>

#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

// Four objects that take turns by pairs, or two that stay hot.
World turns(double move_ns, bool by_turns) {
  return toy_world(4, 15, move_ns, [by_turns](std::size_t w) {
    if (w == 0) return std::vector<ObjectId>{0, 1, 2, 3};
    return by_turns && w % 2 == 0 ? std::vector<ObjectId>{0, 1}
                                  : std::vector<ObjectId>{2, 3};
  });
}

TEST(Clairvoyant, FindsTheOptimumOfToyWorlds) {
  Episode half;
  half.capacity = 0.5;
  for (const bool by_turns : {false, true}) {
    for (const double move_ns : {1e5, 3e5, 1e6, 1e8}) {
      const World world = turns(move_ns, by_turns);
      const double best = best_time_ns(world, 2, 0b0011);
      const Clairvoyant one = clairvoyant(world, half, pack_full);
      EXPECT_LE(one.bound_ns, best * (1 + 1e-9)) << move_ns;
      EXPECT_GE(one.bound_ns, best * 0.97) << move_ns;
      EXPECT_NEAR(one.played.time_ns, best, best * 0.05)
          << move_ns << " by turns " << by_turns;
    }
  }
}

TEST(Clairvoyant, NothingBeatsItsBound) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const World world = training_job(seed);
    for (const double capacity : {0.2, 0.5, 0.8}) {
      Episode episode;
      episode.capacity = capacity;
      const Clairvoyant one = clairvoyant(world, episode, pack_full);
      const double bound = one.bound_ns;
      EXPECT_GE(bound, free_moves_bound_ns(world, episode) * (1 - 1e-9));
      EXPECT_GE(play(world, episode, Decide()).time_ns, bound);
      EXPECT_GE(play(world, episode, greedy_scorer(), pack_full, 0.2).time_ns,
                bound);
      const Played& own = one.played;
      EXPECT_GE(own.time_ns, bound * (1 - 1e-9));
      EXPECT_LE(own.time_ns, play(world, episode, Decide()).time_ns);
    }
  }
}

TEST(Clairvoyant, AllFitsNothingMoves) {
  const World world = training_job(1);
  Episode episode;
  episode.capacity = 1;
  const Clairvoyant one = clairvoyant(world, episode, pack_full);
  EXPECT_NEAR(one.bound_ns, play(world, episode, Decide()).time_ns, 1);
  EXPECT_EQ(one.played.moved_bytes, 0);
}

TEST(Clairvoyant, TakesPartsOfTheWorldAndLongerSteps) {
  const World world = training_job(2);
  Episode episode;
  episode.first = 3;
  episode.last = 18;
  episode.group = 4;
  const Clairvoyant one = clairvoyant(world, episode, pack_full);
  EXPECT_GE(one.played.time_ns, one.bound_ns * (1 - 1e-9));
}

}  // namespace
}  // namespace thermocline
