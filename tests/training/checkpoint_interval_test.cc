#include "training/checkpoint_interval.h"

#include <gtest/gtest.h>

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

TEST(CheckpointInterval, ProfilesThenSavesThenStretches) {
  CheckpointInterval interval({.most_slowdown = 0.03, .profile = 10});
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(interval.after_iteration(0.1));
  EXPECT_TRUE(interval.after_iteration(0.1));
  EXPECT_NEAR(interval.costs().iteration_s, 0.1, 1e-12);
  // Nothing is known yet: no second save before the first is durable.
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(interval.after_iteration(0.1));
  interval.saved(0.003, 0.5);
  EXPECT_EQ(interval.interval(), 5);
  EXPECT_TRUE(interval.after_iteration(0.1));

  for (int i = 0; i < 4; ++i) EXPECT_FALSE(interval.after_iteration(0.101));
  EXPECT_TRUE(interval.after_iteration(0.101));  // 1 % is within the bound
  EXPECT_EQ(interval.interval(), 5);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(interval.after_iteration(0.11));
  EXPECT_TRUE(interval.after_iteration(0.11));
  EXPECT_EQ(interval.interval(), 7);
}

TEST(CheckpointInterval, ExpectedLoss) {
  const auto loss =
      expected_loss({.iteration_s = 0.5, .worst_write_s = 2}, 10, 2, 3);
  EXPECT_DOUBLE_EQ(loss.lost_iterations, 5 + 8);
  EXPECT_DOUBLE_EQ(loss.recovery_s, 3 + 6.5);
}

}  // namespace
}  // namespace thermocline
