#include "estimator/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/access_cost.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two phases of 10 ms in slow memory, 4 ms in fast; the first is all object
// 0's, the second all object 1's; object 2 is never touched. Ten windows.
Differential job(std::uint32_t period = 1) {
  SyntheticJob out;
  out.objects = 3;
  out.period = period;
  out.phases = {{1'000'000, {{0, 500, 0}}}, {1'000'000, {{1, 500, 0}}}};
  auto made = Differential::from_pair(
      out.run("all_slow", {10'000'000, 10'000'000}),
      out.run("all_fast", {4'000'000, 4'000'000}), {10, kRegion, false});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

ScheduledRun run(const Differential& of, const Schedule& schedule) {
  auto out = run_schedule(of, schedule);
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_TRUE(std::isfinite(out->run_ns));
  EXPECT_GE(out->waited_ns, 0);
  EXPECT_GE(out->interference_ns, 0);
  return *std::move(out);
}

const std::vector<TierId> kAllSlow{1, 1, 1};

TEST(Migration, WithoutMovesItIsTheStaticEstimateExactly) {
  const auto of = job();
  for (unsigned code = 0; code < 8; ++code) {
    std::vector<TierId> placement;
    for (unsigned o = 0; o < 3; ++o) {
      placement.push_back(static_cast<TierId>(code >> o & 1));
    }
    for (const double budget : {0.0, 1.0, 1e9, 1e18}) {
      const auto out = run(of, {placement, {}, budget});
      EXPECT_EQ(out.run_ns, of.total_ns(placement)) << "budget " << budget;
      EXPECT_EQ(out.error_ns, of.error_ns(placement));
      EXPECT_EQ(out.moved, 0U);
    }
  }
}

TEST(Migration, AMoveToWhereAnObjectIsCostsNothing) {
  const auto of = job();
  const auto out = run(of, {kAllSlow, {{0, 0, 1}, {3, 1, 1}}, 0});
  EXPECT_EQ(out.run_ns, of.slow_ns());
  EXPECT_EQ(out.moved, 0U);
}

TEST(Migration, AMoveAtTheEndCostsTheMove) {
  const auto of = job();
  const auto out = run(of, {kAllSlow, {{10, 0, 0}}, 0});
  EXPECT_EQ(out.waited_ns, of.move_ns(kRegion, 1, 0));
  EXPECT_EQ(out.interference_ns, 0);
  EXPECT_EQ(out.run_ns, of.slow_ns() + of.move_ns(kRegion, 1, 0));
  EXPECT_EQ(out.moved, kRegion);
  EXPECT_TRUE(out.arrivals.empty());
}

TEST(Migration, AnObjectGainsFromTheWindowAfterItsCopy) {
  const auto of = job();
  // Object 1 is needed in windows 5 to 9; its copy ends within window 2.
  const auto out = run(of, {kAllSlow, {{2, 1, 0}}, 0});
  EXPECT_THAT(out.arrivals, ElementsAre(ScheduledMove{3, 1, 0}));
  EXPECT_NEAR(out.placed_ns(), of.total_ns(std::vector<TierId>{1, 0, 1}), 1);
  // In its own phase it gains in what is left of it: four windows of five.
  const auto late = run(of, {kAllSlow, {{5, 1, 0}}, 0});
  EXPECT_NEAR(late.placed_ns(), 20e6 - 6e6 * 4 / 5, 1);
}

TEST(Migration, ObjectsThatTakeTurnsBeatEveryStaticPlacementOfOne) {
  const auto of = job();
  const auto out = run(of, {{0, 1, 1}, {{4, 0, 1}, {4, 1, 0}}, 0});
  EXPECT_LT(out.run_ns, of.total_ns(std::vector<TierId>{0, 1, 1}));
  EXPECT_LT(out.run_ns, of.total_ns(std::vector<TierId>{1, 0, 1}));
  EXPECT_GT(out.run_ns, of.fast_ns());
  EXPECT_EQ(out.moved, 2 * kRegion);
}

TEST(Migration, MovingInVainNeverHelpsWhateverTheBudget) {
  const auto of = job();
  double before = 0;
  for (const double budget : {1e6, 1e7, 1e8, 1e9, 0.0}) {
    const auto out = run(of, {kAllSlow, {{0, 2, 0}, {3, 2, 1}}, budget});
    EXPECT_GE(out.run_ns, of.slow_ns()) << budget;
    EXPECT_EQ(out.placed_ns(), of.slow_ns());
    // A tighter budget leaves more of the copies for the end.
    if (before > 0) {
      EXPECT_LE(out.waited_ns, before);
    }
    before = out.waited_ns;
  }
}

TEST(Migration, ASmallBudgetDelaysTheGain) {
  const auto of = job();
  // 64 KiB in 5 ms: two windows and a half.
  const auto out = run(of, {kAllSlow, {{0, 0, 0}}, kRegion / 5e-3});
  EXPECT_THAT(out.arrivals, ElementsAre(ScheduledMove{3, 0, 0}));
  EXPECT_NEAR(out.placed_ns(), 20e6 - 6e6 * 2 / 5, 1);
}

TEST(Migration, CopiesDelayAJobByTheLoadOfItsLinks) {
  // With all in slow memory, whose link reads 32 GB/s, each sample stands for
  // so many lines of 2 ns that 500 of them are busy for half of the 10 ms.
  const auto of = job(/*period=*/5000);
  const auto out = run(of, {kAllSlow, {{0, 2, 0}}, 0});
  const double held = kRegion * 1e9 / 32e9;
  EXPECT_NEAR(out.interference_ns, held * 0.5, held * 0.01);
  // An idle link delays nothing.
  EXPECT_LT(run(job(), {kAllSlow, {{0, 2, 0}}, 0}).interference_ns,
            held * 0.001);
  // A full one no more than what is held.
  EXPECT_LE(run(job(1'000'000), {kAllSlow, {{0, 2, 0}}, 0}).interference_ns,
            held);
}

TEST(Migration, TheErrorBarHoldsWhatIsModelled) {
  const auto of = job();
  const auto out = run(of, {kAllSlow, {{10, 0, 0}}, 0});
  EXPECT_NEAR(*out.error_ns, out.waited_ns, 1e-6)
      << "the rest of it was measured";
}

TEST(Migration, RefusesWhatIsNoSchedule) {
  const auto of = job();
  const auto refusal = [&](const Schedule& schedule) {
    const auto out = run_schedule(of, schedule);
    return out ? std::string() : out.error().message;
  };
  EXPECT_THAT(refusal({{1, 1}, {}, 0}), HasSubstr("2 objects"));
  EXPECT_THAT(refusal({{1, 1, 2}, {}, 0}), HasSubstr("no tier 2"));
  EXPECT_THAT(refusal({kAllSlow, {{0, 3, 0}}, 0}), HasSubstr("no object 3"));
  EXPECT_THAT(refusal({kAllSlow, {{0, 0, 2}}, 0}), HasSubstr("no tier 2"));
  EXPECT_THAT(refusal({kAllSlow, {{11, 0, 0}}, 0}), HasSubstr("window 11"));
  EXPECT_THAT(refusal({kAllSlow, {{5, 0, 0}, {4, 1, 0}}, 0}),
              HasSubstr("order"));
  EXPECT_THAT(refusal({kAllSlow, {}, -1}), HasSubstr("budget"));
  EXPECT_THAT(refusal({kAllSlow, {}, std::nan("")}), HasSubstr("budget"));
}

}  // namespace
}  // namespace thermocline
