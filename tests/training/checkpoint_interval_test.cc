#include "training/checkpoint_interval.h"

#include <gtest/gtest.h>

#include <limits>

namespace thermocline {
namespace {

TEST(CheckpointInterval, CheckFreqsFormula) {
  EXPECT_EQ(checkfreq_interval(
                {.iteration_s = 0.1, .snapshot_s = 0.2, .full_s = 1.0}),
            8);
  EXPECT_EQ(checkfreq_interval(
                {.iteration_s = 0.1, .snapshot_s = 0.2, .full_s = 1.01}),
            9);
  EXPECT_EQ(
      checkfreq_interval({.iteration_s = 1, .snapshot_s = 0.2, .full_s = 0.2}),
      1);
}

TEST(CheckpointInterval, PccheckFormula) {
  const CheckpointCosts costs{.iteration_s = 0.1, .worst_write_s = 10};
  EXPECT_EQ(pccheck_interval(costs, 1, 1.0), 100);
  EXPECT_EQ(pccheck_interval(costs, 2, 1.0), 50);
  EXPECT_EQ(pccheck_interval(costs, 2, 1.03), 49);
  EXPECT_EQ(pccheck_interval({.iteration_s = 100, .worst_write_s = 1}, 1, 1),
            1);
}

TEST(CheckpointInterval, SnapshotsStayWithinTheirShare) {
  const CheckpointCosts costs{.iteration_s = 0.1, .snapshot_s = 0.02};
  EXPECT_EQ(slowdown_interval(costs, 0.03), 7);  // 0.02 in 0.7: 2.9 %
  EXPECT_EQ(slowdown_interval(costs, 0.2), 1);
}

// Iterations of one length until a save is due. Returns: how many.
int until_due(CheckpointInterval& interval, double seconds) {
  for (int i = 1; i <= 10'000; ++i) {
    if (interval.after_iteration(seconds)) return i;
  }
  return -1;
}

class IntervalAfterItsProfile : public ::testing::Test {
 protected:
  CheckpointInterval interval{{.most_slowdown = 0.03, .profile = 10}};
  void SetUp() override {
    ASSERT_EQ(until_due(interval, 0.1), 10);
    EXPECT_NEAR(interval.costs().iteration_s, 0.1, 1e-12);
  }
  // A whole window at `seconds` an iteration, and the save at its end.
  void window(double seconds, double snapshot_s, double full_s) {
    ASSERT_EQ(until_due(interval, seconds), interval_before());
    interval.saved(snapshot_s, full_s);
  }
  int interval_before() const { return static_cast<int>(interval.interval()); }
};

TEST(CheckpointInterval, SlowFirstIterationsDoNotHideWhatSavesCost) {
  CheckpointInterval interval({.most_slowdown = 0.03, .profile = 10});
  EXPECT_FALSE(interval.after_iteration(5));
  EXPECT_FALSE(interval.after_iteration(1));
  EXPECT_EQ(until_due(interval, 0.1), 8);
  EXPECT_DOUBLE_EQ(interval.costs().iteration_s, 0.1);
}

TEST_F(IntervalAfterItsProfile, NoneIsDueWhileOneIsUnderWay) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(interval.after_iteration(0.1));
  interval.saved(0.003, 0.5);
  EXPECT_EQ(interval.interval(), 5);
  EXPECT_TRUE(interval.after_iteration(0.1));  // long due
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(interval.after_iteration(0.1));
  interval.saved(0.003, 0.5);
  EXPECT_TRUE(interval.after_iteration(0.1));
}

TEST_F(IntervalAfterItsProfile, AfterAFailureOneIsDueAgain) {
  interval.failed();
  EXPECT_TRUE(interval.after_iteration(0.1));
  interval.saved(0.003, 0.5);
  EXPECT_EQ(until_due(interval, 0.1), 5);
  interval.failed();
  EXPECT_EQ(until_due(interval, 0.1), 5);
}

TEST_F(IntervalAfterItsProfile, StretchesByTwoWhenTheBoundIsExceeded) {
  interval.saved(0.003, 0.5);
  window(0.101, 0.003, 0.5);  // 1 % is within it
  EXPECT_EQ(interval.interval(), 5);
  EXPECT_EQ(until_due(interval, 0.11), 5);
  EXPECT_EQ(interval.interval(), 7);
}

TEST_F(IntervalAfterItsProfile, LongerAtOnceWhereASaveTakesLonger) {
  interval.saved(0.003, 0.5);
  window(0.1, 0.003, 2.0);
  EXPECT_EQ(interval.interval(), 20);
}

TEST_F(IntervalAfterItsProfile, ShorterAgainStepByStepAndNotBelowTheFormulas) {
  interval.saved(0.003, 2.0);  // a slow one, of a cold disk
  EXPECT_EQ(interval.interval(), 20);
  for (int i = 0; i < 8; ++i) window(0.1, 0.003, 0.5);
  EXPECT_EQ(interval.interval(), 20);  // it is among the last 8 until now
  for (int i = 0; i < 4; ++i) window(0.1, 0.003, 0.5);
  EXPECT_EQ(interval.interval(), 19);
  for (int i = 0; i < 100; ++i) window(0.1, 0.003, 0.5);
  EXPECT_EQ(interval.interval(), 5);
}

// 20 ms beyond training for each save: 3 % of 7 iterations, and not of 6.
TEST_F(IntervalAfterItsProfile, NotShorterThanTheBoundAllowsByWhatWasSeen) {
  interval.saved(0.001, 2.0);
  for (int i = 0; i < 200; ++i) {
    window(0.1 + 0.02 / interval_before(), 0.001, 0.5);
  }
  EXPECT_EQ(interval.interval(), 7);
}

// A broken clock's time is no reason to end the job, nor never to save.
TEST(CheckpointInterval, ATimeThatIsNoneIsLeftOut) {
  constexpr double kNone[] = {std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(), -1};
  CheckpointInterval interval({.most_slowdown = 0.03, .profile = 10});
  for (const double none : kNone) {
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(interval.after_iteration(none));
  }
  ASSERT_EQ(until_due(interval, 0.1), 10);
  EXPECT_DOUBLE_EQ(interval.costs().iteration_s, 0.1);
  interval.saved(0.003, 0.5);
  ASSERT_EQ(interval.interval(), 5);
  for (const double none : kNone) {
    EXPECT_EQ(until_due(interval, none), 5);
    interval.saved(none, none);
    EXPECT_EQ(interval.interval(), 5);
  }
}

TEST(CheckpointInterval, OptionsThatMakeNoSenseAreTheNearestThatDo) {
  for (const double share :
       {0.0, -1.0, 0.00001, std::numeric_limits<double>::quiet_NaN()}) {
    CheckpointInterval interval({.most_slowdown = share, .profile = -5});
    ASSERT_TRUE(interval.after_iteration(0.1));
    interval.saved(0.003, 0.5);
    EXPECT_EQ(interval.interval(), 300) << share;
  }
}

TEST(CheckpointInterval, ExpectedLoss) {
  const auto loss =
      expected_loss({.iteration_s = 0.5, .worst_write_s = 2}, 10, 2, 3);
  EXPECT_DOUBLE_EQ(loss.lost_iterations, 5 + 8);
  EXPECT_DOUBLE_EQ(loss.recovery_s, 3 + 6.5);
}

}  // namespace
}  // namespace thermocline
