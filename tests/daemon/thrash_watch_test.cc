#include "daemon/thrash_watch.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

class ThrashWatchTest : public ::testing::Test {
 protected:
  // Windows of a job whose working set is twice the fast tier. The share that
  // fast memory serves is one with moves and another without.
  void windows(int count, double moving, double still,
               Bytes working_set = 128 * kMiB) {
    for (int i = 0; i < count; ++i) {
      const bool held = watch.holding();
      watch.end_window({working_set, 64 * kMiB, held ? 0 : 8 * kMiB,
                        held ? 0 : 7 * kMiB, held ? still : moving});
    }
  }
  ThrashWatch watch{ThrashWatch::Options{}};
};

TEST_F(ThrashWatchTest, SwappingForNothingIsStopped) {
  windows(15, 0.5, 0.5);
  EXPECT_FALSE(watch.holding());
  windows(1, 0.5, 0.5);
  EXPECT_TRUE(watch.holding());  // on trial
  windows(4, 0.5, 0.5);
  EXPECT_EQ(watch.stops(), 1u);
  windows(31, 0.5, 0.5);
  EXPECT_TRUE(watch.holding());
  windows(1, 0.5, 0.5);
  EXPECT_FALSE(watch.holding());  // tried again
  windows(16 + 4, 0.5, 0.5);
  EXPECT_EQ(watch.stops(), 2u);
  windows(63, 0.5, 0.5);
  EXPECT_TRUE(watch.holding());  // twice as long
}

TEST_F(ThrashWatchTest, AStopGoesOnAfterARestart) {
  windows(16 + 4 + 32 + 16 + 4, 0.5, 0.5);  // stopped again
  ASSERT_EQ(watch.stops(), 2u);
  windows(10, 0.5, 0.5);
  const auto memory = watch.memory();
  watch = ThrashWatch(ThrashWatch::Options{});
  watch.recall(memory);
  windows(53, 0.5, 0.5);
  EXPECT_TRUE(watch.holding());
  windows(1, 0.5, 0.5);
  EXPECT_FALSE(watch.holding());
  windows(16 + 4 + 127, 0.5, 0.5);
  EXPECT_TRUE(watch.holding()) << "the third is twice as long again";
}

TEST_F(ThrashWatchTest, NonsenseIsNotRecalled) {
  for (const auto& memory :
       std::initializer_list<ThrashWatch::Memory>{{9, 5, 0.5, 0, 0},
                                                  {2, -5, 0.5, 0, 0},
                                                  {2, 5, 7, 0, 0},
                                                  {-1, 5, 0.5, -3, 1 << 20}}) {
    watch.recall(memory);
    EXPECT_FALSE(watch.holding());
    EXPECT_LE(watch.memory().acquitted_in_a_row, 6);
    EXPECT_GE(watch.memory().stopped_in_a_row, 0);
  }
  watch.recall({2, INT64_MAX, 0.5, 0, 0});
  EXPECT_LE(watch.memory().left, 32 << 6);
}

TEST_F(ThrashWatchTest, SwappingThatPaysIsAcquitted) {
  windows(16, 0.8, 0.4);
  EXPECT_TRUE(watch.holding());
  windows(4, 0.8, 0.4);
  EXPECT_FALSE(watch.holding());
  EXPECT_EQ(watch.stops(), 0u);
  windows(1000, 0.8, 0.4);
  // In a thousand windows a handful of trials, fewer and fewer.
  EXPECT_LE(watch.trials(), 6u);
  EXPECT_EQ(watch.stops(), 0u);
}

TEST_F(ThrashWatchTest, AStopThatTurnsOutWrongIsLifted) {
  windows(16 + 4, 0.8, 0.8);
  ASSERT_EQ(watch.stops(), 1u);
  windows(3, 0.8, 0.4);  // what is hot changes, and nothing follows it
  EXPECT_FALSE(watch.holding());
}

TEST_F(ThrashWatchTest, AWorkingSetThatFitsIsNoConcern) {
  windows(100, 0.5, 0.5, 32 * kMiB);
  EXPECT_EQ(watch.trials(), 0u);
}

TEST_F(ThrashWatchTest, AGrowingShareIsProgress) {
  for (int i = 0; i < 60; ++i) {
    watch.end_window(
        {128 * kMiB, 64 * kMiB, 8 * kMiB, 7 * kMiB, 0.2 + 0.01 * i});
  }
  EXPECT_EQ(watch.trials(), 0u);
}

TEST_F(ThrashWatchTest, ItResumesWhenTheWorkingSetShrinks) {
  windows(20, 0.5, 0.5);
  ASSERT_EQ(watch.stops(), 1u);
  windows(1, 0.5, 0.5, 32 * kMiB);
  EXPECT_FALSE(watch.holding());
}

TEST(ThrashWatch, CanBeSwitchedOff) {
  ThrashWatch watch({.span = 0});
  for (int i = 0; i < 100; ++i) {
    watch.end_window({2 * kMiB, kMiB, kMiB, kMiB, 0.5});
  }
  EXPECT_FALSE(watch.holding());
}

}  // namespace
}  // namespace thermocline
