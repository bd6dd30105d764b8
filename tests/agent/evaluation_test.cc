#include "agent/evaluation.h"

#include <gtest/gtest.h>

#include "tests/agent/toy_worlds.h"

namespace thermocline {
namespace {

Episode with_room_for(std::size_t fast, std::size_t objects) {
  Episode out;
  // A hair more, for a share is rounded down to bytes.
  out.capacity =
      (static_cast<double>(fast) + 1e-9) / static_cast<double>(objects);
  return out;
}

// The exact optimum over all sequences of placements.
TEST(FreeMovesBound, NothingBeatsIt) {
  const auto hot = [](std::size_t w) {
    const auto one = static_cast<ObjectId>(w % 4);
    const auto other = static_cast<ObjectId>((w / 3) % 4);
    return one == other ? std::vector<ObjectId>{one}
                        : std::vector<ObjectId>{one, other};
  };
  const World world = toy_world(4, 12, 0.5e6, hot);
  for (std::size_t fast = 0; fast <= 4; ++fast) {
    const double bound = free_moves_bound_ns(world, with_room_for(fast, 4));
    for (unsigned start = 0; start < 16; ++start) {
      if (static_cast<std::size_t>(__builtin_popcount(start)) > fast) continue;
      EXPECT_LE(bound, best_time_ns(world, fast, start) + 1);
    }
  }
  EXPECT_NEAR(free_moves_bound_ns(world, with_room_for(0, 4)), world.slow_ns(),
              1);
  EXPECT_NEAR(free_moves_bound_ns(world, with_room_for(4, 4)), world.fast_ns(),
              1);
}

// One hot object that changes: free moves follow it.
TEST(FreeMovesBound, FollowsWhatIsHot) {
  const World world = toy_world(3, 6, 1e9, [](std::size_t w) {
    return std::vector<ObjectId>{static_cast<ObjectId>(w % 3)};
  });
  EXPECT_NEAR(free_moves_bound_ns(world, with_room_for(1, 3)), world.fast_ns(),
              1);
}

TEST(StaticBound, IsTheBestPlacementThatStays) {
  const auto hot = [](std::size_t w) {
    return std::vector<ObjectId>{static_cast<ObjectId>(w % 5 == 0 ? 2 : w % 4)};
  };
  const World world = toy_world(4, 12, 0.5e6, hot);
  for (std::size_t fast = 0; fast <= 4; ++fast) {
    const Episode episode = with_room_for(fast, 4);
    double best = world.slow_ns();
    for (unsigned placed = 0; placed < 16; ++placed) {
      if (static_cast<std::size_t>(__builtin_popcount(placed)) > fast) continue;
      double time = 0;
      for (const World::Window& window : world.windows) {
        time += window.fast_ns;
        for (const WindowAccess& one : window.accesses) {
          const bool slow = (placed >> one.object & 1U) == 0;
          if (slow) time += one.cost * (window.slow_ns - window.fast_ns);
        }
      }
      best = std::min(best, time);
    }
    EXPECT_NEAR(static_bound_ns(world, episode), best, 1);
    EXPECT_GE(static_bound_ns(world, episode),
              free_moves_bound_ns(world, episode) - 1);
  }
}

TEST(StaticBound, FillsTheRestWithAPart) {
  const World world = toy_world(2, 4, 0, [](std::size_t w) {
    return std::vector<ObjectId>{static_cast<ObjectId>(w % 2)};
  });
  Episode episode = with_room_for(1, 2);
  episode.capacity = 0.75;
  EXPECT_NEAR(static_bound_ns(world, episode),
              (3 * world.fast_ns() + world.slow_ns()) / 4, 1);
}

TEST(Play, AsksForDecisionsOnceAStep) {
  const World world =
      toy_world(2, 5, 0, [](std::size_t) { return std::vector<ObjectId>{1}; });
  Episode episode = with_room_for(1, 2);
  episode.start = Episode::Start::kSlow;
  int asked = 0;
  const Played out = play(world, episode, [&](const View& view) {
    const bool first = asked++ == 0;
    EXPECT_EQ(view.objects[1].tier, first ? 1 : 0);
    return first ? std::vector<Move>{{1, 1, 0}} : std::vector<Move>();
  });
  EXPECT_EQ(asked, 4);
  EXPECT_NEAR(out.time_ns, 3e6 + 4 * 1e6, 1);
  EXPECT_EQ(out.moved_bytes, static_cast<double>(kToyBytes));
}

}  // namespace
}  // namespace thermocline
