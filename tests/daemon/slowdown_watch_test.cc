#include "daemon/slowdown_watch.h"

#include <gtest/gtest.h>

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
