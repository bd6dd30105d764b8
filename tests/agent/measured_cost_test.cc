#include "agent/measured_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace thermocline {
namespace {

TEST(MeasuredCost, WithoutAWindowThePriorHolds) {
  MeasuredCost cost;
  EXPECT_EQ(cost.factor(3), 3);
  cost.see(1e6, 0, 0);
  EXPECT_EQ(cost.factor(3), 3);
}

// Nothing is to be learned from windows that are all alike.
TEST(MeasuredCost, WhereShareDoesNotChangeThePriorHolds) {
  MeasuredCost cost;
  for (int i = 0; i < 1000; ++i) cost.see(2e6, 1e6, 5e5);
  EXPECT_NEAR(cost.factor(3), 3, 1e-6);
}

TEST(MeasuredCost, FindsTheFactorWhateverThePriorAndTheWork) {
  for (const double truth : {0.3, 1.0, 6.0}) {
    for (const double prior : {0.1, 10.0}) {
      std::mt19937_64 rng(7);
      std::normal_distribution<double> noise(1, 0.05);
      MeasuredCost cost;
      for (int i = 0; i < 400; ++i) {
        const double all = 1e6 * (1 + static_cast<double>(rng() % 5));
        const double slow = all * static_cast<double>(rng() % 100) / 100;
        cost.see((2 * all + truth * slow) * noise(rng), all, slow);
      }
      EXPECT_NEAR(cost.factor(prior), truth, 0.1 * truth + 0.1)
          << truth << " from " << prior;
    }
  }
}

// Moves that make the model's loss less and the window longer.
TEST(MeasuredCost, FallsBelowZeroWhereMovesMakeItWorse) {
  MeasuredCost cost;
  for (int times = 0; times < 3; ++times) {
    for (int i = 0; i < 20; ++i) cost.see(2e6, 1e6, 8e5);
    for (int i = 0; i < 20; ++i) cost.see(2.2e6, 1e6, 4e5);
  }
  EXPECT_LT(cost.factor(1), 0);
}

// It starts with much other work and little in slow memory, and goes on with
// less and more: where the two are the same, slow memory costs 2.
TEST(MeasuredCost, PhasesOfOtherWorkAreNotOneLine) {
  MeasuredCost cost;
  const auto phase = [&](double other, double share) {
    for (int i = 0; i < 50; ++i) {
      const double slow = 1e6 * (share + (i % 2 == 0 ? 0.1 : -0.1));
      cost.see(other + 2 * slow, 1e6, slow);
    }
  };
  phase(1e7, 0.2);
  phase(1e6, 0.8);
  EXPECT_GT(cost.factor(2), 0);  // a line through windows falls by 12
  phase(1e6, 0.8);
  phase(1e6, 0.8);
  EXPECT_NEAR(cost.factor(2), 2, 1);
}

// Where windows differ for other reasons, and hardly in what is measured, the
// agent's word is worth more than the line through them.
TEST(MeasuredCost, NoiseLeavesThePrior) {
  double off = 0;
  constexpr int kJobs = 100;
  for (int seed = 1; seed <= kJobs; ++seed) {
    std::mt19937_64 rng(static_cast<std::uint64_t>(seed));
    std::normal_distribution<double> noise(0, 3e6);
    MeasuredCost cost;
    for (int i = 0; i < 30; ++i) {
      const double slow = 1e6 * (0.2 + 0.05 * static_cast<double>(i % 2));
      cost.see(9e6 + 4 * slow + noise(rng), 1e6, slow);
    }
    off += std::pow(cost.factor(4) - 4, 2) / kJobs;
  }
  EXPECT_LT(std::sqrt(off), 4);  // were all noise taken for the same: 10
}

// A job that began near a window's end accessed little in it, and took all of
// its time.
TEST(MeasuredCost, APartOfAWindowSaysLittle) {
  MeasuredCost cost;
  cost.see(1e9, 1e4, 1e2);
  cost.see(1e9, 2e8, 1e8);
  EXPECT_NEAR(cost.factor(4), 4, 0.1);
  for (int i = 0; i < 50; ++i) {
    const double slow = i % 2 == 0 ? 5e7 : 1e8;
    cost.see(6e8 + 2 * slow, 2e8, slow);
  }
  EXPECT_NEAR(cost.factor(4), 2, 0.2);
}

// A job whose accesses change is learned anew.
TEST(MeasuredCost, ForgetsInAFewHundredWindows) {
  MeasuredCost cost;
  const auto windows = [&](double truth, int count) {
    for (int i = 0; i < count; ++i) {
      const double slow = i % 2 == 0 ? 2e5 : 8e5;
      cost.see(2e6 + truth * slow, 1e6, slow);
    }
  };
  windows(4, 2000);
  EXPECT_NEAR(cost.factor(1), 4, 0.1);
  windows(1, 1000);
  EXPECT_NEAR(cost.factor(1), 1, 0.1);
}

}  // namespace
}  // namespace thermocline
