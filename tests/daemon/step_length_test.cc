#include "daemon/step_length.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr Nanos kSecond = 1'000'000'000;

TEST(StepLength, IsNotKnownBeforeTheSecondMark) {
  StepLength steps;
  EXPECT_EQ(steps.length(kSecond), 0);
  steps.mark(kSecond);
  EXPECT_EQ(steps.length(kSecond), 0);
  EXPECT_EQ(steps.length(9 * kSecond), 0);
  steps.mark(4 * kSecond);
  EXPECT_EQ(steps.length(4 * kSecond), 3 * kSecond);
}

TEST(StepLength, IsForgottenOnceTheJobMarksNoMore) {
  StepLength steps;
  steps.mark(0);
  steps.mark(2 * kSecond);
  EXPECT_EQ(steps.length(6 * kSecond), 2 * kSecond);
  EXPECT_EQ(steps.length(6 * kSecond + 1), 0);
  steps.mark(20 * kSecond);  // it goes on, after an evaluation
  for (Nanos at = 22; at <= 60; at += 2) steps.mark(at * kSecond);
  EXPECT_LT(steps.length(60 * kSecond), 3 * kSecond);
  EXPECT_GE(steps.length(60 * kSecond), 2 * kSecond);
}

TEST(StepLength, TwoOptimizersAreOneStep) {
  StepLength steps;
  for (Nanos at = 0; at < 10; ++at) {
    steps.mark(at * kSecond);
    steps.mark(at * kSecond + kSecond / 10);
  }
  EXPECT_GE(steps.length(10 * kSecond), kSecond * 3 / 4);
  EXPECT_LE(steps.length(10 * kSecond), kSecond);
}

TEST(StepLength, NoWindowIsEndless) {
  StepLength steps;
  steps.mark(0);
  steps.mark(1000 * kSecond);
  EXPECT_EQ(steps.length(1001 * kSecond), StepLength::kLongest);
}

}  // namespace
}  // namespace thermocline
