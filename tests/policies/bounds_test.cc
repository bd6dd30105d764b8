#include "policies/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "policies/replay.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

Iteration make(const ChainJob& job) {
  auto made = Iteration::from_trace(job.trace(), two_tiers());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

ChainJob two_layers() {
  ChainJob job;
  job.layers = 2;
  return job;
}

double fixed(const Iteration& step, Bytes fast) {
  const auto bound = static_bound_ns(step, fast);
  EXPECT_TRUE(bound) << bound.error().message;
  return bound ? *bound : std::numeric_limits<double>::quiet_NaN();
}

TEST(Bounds, AreTheEndpointsAtBothEnds) {
  const Iteration step = make({});
  EXPECT_NEAR(free_moves_bound_ns(step, 0), step.all_slow_ns(), 1e-6);
  EXPECT_NEAR(fixed(step, 0), step.all_slow_ns(), 1e-6);
  // Once the largest operator fits, free moves do the rest.
  EXPECT_NEAR(free_moves_bound_ns(step, 64'000 * 8), step.all_fast_ns(), 1e-6);
  EXPECT_NEAR(fixed(step, step.peak_bytes()), step.all_fast_ns(), 1e-6);
}

TEST(Bounds, GrowWithLessMemoryAndKeepTheirOrder) {
  const Iteration step = make({});
  double before_free = std::numeric_limits<double>::infinity();
  double before_fixed = before_free;
  for (Bytes fast = 0; fast <= step.peak_bytes(); fast += 64'000) {
    const double free = free_moves_bound_ns(step, fast);
    const double still = fixed(step, fast);
    EXPECT_LE(free, still + 1e-6) << fast;
    EXPECT_LE(free, before_free + 1e-6);
    EXPECT_LE(still, before_fixed + 1e-6);
    EXPECT_GE(free, step.all_fast_ns() - 1e-6);
    before_free = free;
    before_fixed = still;
  }
}

// Every static placement of a job of 11 tensors, by hand.
TEST(Bounds, NoStaticPlacementBeatsTheLinearProgram) {
  const Iteration step = make(two_layers());
  const std::size_t n = step.tensors();
  ASSERT_LE(n, 16u);
  for (const Bytes fast : {64'000u, 200'000u, 300'000u, 500'000u}) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
      Plan plan{std::vector<TierId>(n, 1), {}, ""};
      for (std::size_t t = 0; t < n; ++t) {
        if (set >> t & 1) plan.birth[t] = 0;
      }
      if (!check(plan, step, {{fast, Bytes{1} << 40}})) continue;
      best = std::min(best, step.step_ns(plan.birth));
    }
    EXPECT_LE(fixed(step, fast), best + 1e-6) << fast;
    // And it is worth something: the tensors are few and of two sizes.
    EXPECT_GT(fixed(step, fast), free_moves_bound_ns(step, fast) - 1e-6);
    EXPECT_GT(fixed(step, fast),
              best - 0.2 * (step.all_slow_ns() - step.all_fast_ns()));
  }
}

// Times that are not the sum of their penalties: measured at both ends, where
// all slow costs less than the machine says.
TEST(Bounds, HoldForMeasuredPairs) {
  ChainJob job = two_layers();
  const Trace fast = job.trace();
  job.placement = "all_slow";
  job.operator_ns = 53'000;
  const auto step = Iteration::from_pair(fast, job.trace(), two_tiers());
  ASSERT_TRUE(step) << step.error().message;
  const std::size_t n = step->tensors();
  const Bytes room = 300'000;
  const double still = fixed(*step, room);
  const double free = free_moves_bound_ns(*step, room);
  for (std::size_t set = 0; set < std::size_t{1} << n; ++set) {
    Plan plan{std::vector<TierId>(n, 1), {}, ""};
    for (std::size_t t = 0; t < n; ++t) {
      if (set >> t & 1) plan.birth[t] = 0;
    }
    if (!check(plan, *step, {{room, Bytes{1} << 40}})) continue;
    ASSERT_LE(still, step->step_ns(plan.birth) + 1e-6);
    ASSERT_LE(free, step->step_ns(plan.birth) + 1e-6);
  }
}

}  // namespace
}  // namespace thermocline
