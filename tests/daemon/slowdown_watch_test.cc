#include "daemon/slowdown_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace thermocline {
namespace {

class SlowdownWatchTest : public ::testing::Test {
 protected:
  void windows(int count, double operators, bool moved) {
    for (int i = 0; i < count; ++i) {
      watch.end_window({operators, 1000, moved && !watch.holding()});
    }
  }
  SlowdownWatch watch{SlowdownWatch::Options{}};
};

TEST_F(SlowdownWatchTest, MovesThatSlowTheJobRest) {
  windows(20, 100, false);
  windows(7, 60, true);
  EXPECT_FALSE(watch.holding());  // a few windows prove nothing
  windows(1, 60, true);
  EXPECT_TRUE(watch.holding());
  windows(8, 100, true);  // it recovers while they rest
  EXPECT_FALSE(watch.holding());
  EXPECT_EQ(watch.holds(), 1u);
  EXPECT_EQ(watch.blamed(), 1u);
}

TEST_F(SlowdownWatchTest, TheNextRestIsTwiceAsLong) {
  windows(20, 100, false);
  for (int rest : {8, 16, 32}) {
    windows(8, 60, true);
    ASSERT_TRUE(watch.holding()) << rest;
    windows(rest - 1, 100, true);
    EXPECT_TRUE(watch.holding()) << rest;
    windows(1, 100, true);
    EXPECT_FALSE(watch.holding()) << rest;
  }
}

TEST_F(SlowdownWatchTest, ARestGoesOnAfterARestart) {
  windows(20, 100, false);
  windows(8, 60, true);
  windows(8, 100, true);  // blamed once
  windows(8, 60, true);
  windows(5, 100, true);  // 5 of 16
  const auto memory = watch.memory();
  watch = SlowdownWatch(SlowdownWatch::Options{});
  watch.recall(memory);
  windows(10, 100, true);
  EXPECT_TRUE(watch.holding());
  windows(1, 100, true);
  EXPECT_FALSE(watch.holding());
  EXPECT_EQ(watch.blamed(), 1u) << "by what was before the restart";
  EXPECT_EQ(watch.memory().doublings, 2);
}

TEST_F(SlowdownWatchTest, NonsenseIsNotRecalled) {
  const double nan = std::nan("");
  for (const auto& memory : std::initializer_list<SlowdownWatch::Memory>{
           {5, 1 << 20, false, 0, 0, 0},
           {5, -1, false, nan, 1, 1},
           {-5, 0, true, 100, 1, 8},
           {5, 0, true, 100, nan, 8},
           {5, 0, true, 100, 1, 0}}) {
    watch.recall(memory);
    EXPECT_FALSE(watch.holding());
    EXPECT_EQ(watch.memory().doublings, 0);
  }
  watch.recall({INT64_MAX, 0, false, 100, 1, 8});
  EXPECT_LE(watch.memory().left, 8 << 6);
  SlowdownWatch off({.drop = 0});
  off.recall({5, 0, false, 100, 1, 8});
  EXPECT_FALSE(off.holding());
}

TEST_F(SlowdownWatchTest, AJobThatChangesByItselfIsLetBe) {
  windows(20, 100, false);
  windows(8, 60, true);
  EXPECT_TRUE(watch.holding());
  windows(8, 60, true);  // no better without moves
  EXPECT_FALSE(watch.holding());
  EXPECT_EQ(watch.blamed(), 0u);
  windows(200, 60, true);  // the new measure
  EXPECT_EQ(watch.holds(), 1u);
}

// Windows shorter than a step: most are slow, one in seven is quick.
TEST_F(SlowdownWatchTest, PhasesOfAJobAreNoSlowdown) {
  const auto progress = [](int window) {
    return window % 7 == 0 ? 400.0 : 20 + 10 * (window % 3);
  };
  for (int i = 0; i < 1000; ++i) {
    watch.end_window({progress(i), 1000, i > 20});
  }
  EXPECT_EQ(watch.holds(), 0u);
}

// Windows that differ by six tenths of themselves, by chance. Of ten such jobs
// the guard may be wrong about some, and sees most that are halved.
TEST(SlowdownWatch, SeesASlowdownThroughNoise) {
  std::uint64_t wrong = 0;
  int seen = 0;
  for (std::uint32_t job = 0; job < 10; ++job) {
    SlowdownWatch watch{SlowdownWatch::Options{}};
    std::mt19937 random(job);
    const auto window = [&](double pace, bool moves = true) {
      const double share = static_cast<double>(random()) / 4294967296.0;
      watch.end_window(
          {pace * (share + share * share), 1000, moves && !watch.holding()});
    };
    for (int i = 0; i < 20; ++i) window(100, false);
    for (int i = 0; i < 300; ++i) window(100);
    wrong += watch.holds();
    while (watch.holding()) window(100);
    const auto before = watch.holds();
    for (int i = 0; i < 100 && watch.holds() == before; ++i) window(50);
    seen += watch.holds() > before ? 1 : 0;
  }
  EXPECT_LE(wrong, 10u) << "in 3,000 windows";
  EXPECT_GE(seen, 7);
}

TEST_F(SlowdownWatchTest, SlowWithoutMovesIsNoneOfOurBusiness) {
  windows(20, 100, false);
  windows(100, 10, false);
  EXPECT_EQ(watch.holds(), 0u);
}

TEST_F(SlowdownWatchTest, SamplesTellWhereNoObserverDoes) {
  const auto run = [&](int count, double accesses, bool moved) {
    for (int i = 0; i < count; ++i) watch.end_window({0, accesses, moved});
  };
  run(20, 1000, false);
  run(8, 600, true);  // samples are a poor witness
  EXPECT_FALSE(watch.holding());
  run(16, 400, true);
  EXPECT_GE(watch.holds(), 1u);
}

TEST(SlowdownWatch, CanBeSwitchedOff) {
  SlowdownWatch watch({.drop = 0});
  for (int i = 0; i < 20; ++i) watch.end_window({100, 0, false});
  for (int i = 0; i < 20; ++i) watch.end_window({1, 0, true});
  EXPECT_FALSE(watch.holding());
}

}  // namespace
}  // namespace thermocline
