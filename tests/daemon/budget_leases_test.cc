#include "daemon/budget_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

constexpr Nanos kSecond = 1'000'000'000;
constexpr Bytes kRate = 1'000'000;

class BudgetLeasesTest : public testing::Test {
 protected:
  std::size_t consumers() const { return budget.uses().size(); }

  ScriptedKernel kernel;
  Budget budget{kRate, 0, kernel.now()};
  Budget::Id moves = *budget.add("migration", 1);
  BudgetLeases leases{budget, kernel};
};

TEST_F(BudgetLeasesTest, WhoAsksJoinsAndSilenceEndsIt) {
  EXPECT_TRUE(leases.use("a", 1, 10, 0)->joined);
  EXPECT_FALSE(leases.use("a", 1, 10, 0)->joined);
  EXPECT_TRUE(leases.use("b", 1, 10, 0)->joined);
  EXPECT_EQ(consumers(), 3u);
  kernel.time += BudgetLeases::kSilence - 1;
  EXPECT_THAT(leases.forget_silent(), testing::IsEmpty());
  ASSERT_TRUE(leases.use("b", 1, 0, 0));
  kernel.time += 1;
  EXPECT_THAT(leases.forget_silent(), testing::ElementsAre("a"));
  EXPECT_EQ(consumers(), 2u);
  ASSERT_TRUE(leases.leave("b"));
  EXPECT_EQ(leases.leave("b").error().code, Error::Code::kNotFound);
  EXPECT_EQ(consumers(), 1u);
}

TEST_F(BudgetLeasesTest, NobodyMakesBudgetOutOfNothing) {
  const Bytes all = leases.use("a", 1, 10 * kRate, 0)->bytes;
  EXPECT_EQ(all, kRate);
  EXPECT_EQ(leases.use("a", 1, 10 * kRate, 400'000)->bytes, 400'000u);
  EXPECT_EQ(leases.use("a", 1, 0, 100 * kRate)->bytes, 0u);
  EXPECT_EQ(leases.use("a", 1, 10 * kRate, 0)->bytes, kRate);
}

TEST_F(BudgetLeasesTest, SaysHowLongToWait) {
  ASSERT_EQ(leases.use("a", 1, kRate, 0)->wait, 0);
  // Half of the rate is its own.
  EXPECT_NEAR(static_cast<double>(leases.use("a", 1, kRate / 10, 0)->wait),
              0.2 * kSecond, 1e6);
  EXPECT_EQ(leases.use("a", 1, 100 * kRate, 0)->wait, kSecond);
}

TEST_F(BudgetLeasesTest, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(leases.use("migration", 1, 1, 0));
  EXPECT_FALSE(leases.use("", 1, 1, 0));
  EXPECT_FALSE(leases.use("a", 0, 1, 0));
  EXPECT_FALSE(leases.use(std::string(1000, 'x'), 1, 1, 0));
  ASSERT_TRUE(leases.use("a", 1, 1, 0));
  EXPECT_FALSE(leases.use("a", 2, 1, 0));
  std::size_t joined = 1;
  while (leases.use(std::to_string(joined), 1, 0, 0)) ++joined;
  EXPECT_EQ(joined, BudgetLeases::kMost);
}

TEST_F(BudgetLeasesTest, MovesSwitchedOffHoldNobodyElseBack) {
  budget.set_rate(0);
  EXPECT_EQ(leases.use("a", 1, 100 * kRate, 0)->bytes, 100 * kRate);
  EXPECT_EQ(budget.available(moves, kernel.now()), 0u);
}

// Moves once a second, a writer a hundred times: both take all that they can.
TEST_F(BudgetLeasesTest, TwoGreedyOnesKeepTheRateAndNeitherStarves) {
  for (const double weight : {0.25, 1.0, 4.0}) {
    SCOPED_TRACE(weight);
    budget.take(moves, budget.available(moves, kernel.now()));
    constexpr int kSeconds = 20;
    Bytes moved = 0, written = 0;
    for (int i = 1; i <= 100 * kSeconds; ++i) {
      kernel.time += kSecond / 100;
      written += leases.use("writer", weight, 10 * kRate, 0)->bytes;
      if (i % 100 != 0) continue;
      const Bytes now = budget.available(moves, kernel.now());
      budget.take(moves, now);
      moved += now;
    }
    const double all = 1.0 * kSeconds * kRate;
    EXPECT_LE(static_cast<double>(moved + written), all + kRate);
    EXPECT_GE(static_cast<double>(moved + written), 0.95 * all);
    EXPECT_GE(static_cast<double>(moved), 0.9 * all / (1 + weight));
    EXPECT_GE(static_cast<double>(written), 0.9 * all * weight / (1 + weight));
    ASSERT_TRUE(leases.leave("writer"));
  }
}

}  // namespace
}  // namespace thermocline
