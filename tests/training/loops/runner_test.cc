#include "training/loops/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/loops/runner_checks.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using Mode = ArrayAccess::Mode;

class LoopsOverThreads : public testing::TestWithParam<int> {};

TEST_P(LoopsOverThreads, EqualTheSerialOrder) {
  for (const auto check : {check_rotation, check_wavefront, check_skewed,
                           check_sweeps, check_rows, check_buffered}) {
    run_as_threads(GetParam(), check);
  }
}

INSTANTIATE_TEST_SUITE_P(, LoopsOverThreads, testing::Values(1, 2, 3, 4, 6));

TEST(LoopRunner, BadArraysAreNamed) {
  const auto ranks = single_rank();
  const Loop loop{{10}, true, {{"x", Mode::kUpdate, {index(0, 1)}}}, {}};
  const auto plan = plan_loop(loop);
  const auto schedule = Schedule::make(loop, *plan, {});
  const auto message = [&](std::vector<SharedArray*> arrays) {
    const auto refused = LoopRunner::make(*ranks, loop, *schedule, arrays);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_THAT(message({}), testing::HasSubstr("array x, which is not given"));
  auto flat = SharedArray::make(*ranks, "x", {10});
  EXPECT_THAT(message({&*flat}), testing::HasSubstr("reaches from 1 to 10"));
  auto deep = SharedArray::make(*ranks, "x", {11, 2});
  EXPECT_THAT(message({&*deep}), testing::HasSubstr("2 dimensions"));
  EXPECT_FALSE(SharedArray::make(*ranks, "x", {0}).has_value());
  EXPECT_FALSE(SharedArray::make(*ranks, "x", {4}, {0, 3}).has_value());
}

TEST(LoopRunner, ADelayThatTilesCannotKeepIsRefused) {
  const Loop loop{{40, 40},
                  false,
                  {{"x", Mode::kUpdate, {index(0)}},
                   {"y", Mode::kUpdate, {index(1)}},
                   {"s", Mode::kBuffered, {constant(0)}}},
                  {}};
  const auto plan = plan_loop(loop);
  ASSERT_TRUE(plan.has_value());
  const auto refused = Schedule::make(loop, *plan, {2, 2, 100});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("400 iterations"));
  EXPECT_TRUE(Schedule::make(loop, *plan, {2, 2, 400}).has_value());
}

TEST(LoopRunnerDeathTest, TouchingWhatWasNotDeclaredIsABug) {
  const auto ranks = single_rank();
  const Loop loop{{4}, true, {{"x", Mode::kUpdate, {index(0)}}}, {}};
  const auto schedule = Schedule::make(loop, *plan_loop(loop), {});
  auto x = SharedArray::make(*ranks, "x", {9});
  auto runner = LoopRunner::make(*ranks, loop, *schedule, {&*x});
  EXPECT_DEATH((void)runner->run([](Iteration& it) { it.at(0, {7}) = 1; }),
               "check failed");
}

}  // namespace
}  // namespace thermocline
