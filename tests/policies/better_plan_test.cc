#include "policies/better_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/policy.h"
#include "policies/replay.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/tensor_jobs.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

// One tier more, between the two in every respect.
Machine with_a_middle() {
  Machine out = two_tiers();
  const Tier& fast = out.tiers.front();
  const Tier& slow = out.tiers.back();
  Tier middle = slow;
  middle.name = "middle";
  middle.nodes = {7};
  middle.read_ns = (fast.read_ns + slow.read_ns) / 2;
  middle.write_ns = (fast.write_ns + slow.write_ns) / 2;
  middle.read_bytes_per_s = (fast.read_bytes_per_s + slow.read_bytes_per_s) / 2;
  middle.write_bytes_per_s =
      (fast.write_bytes_per_s + slow.write_bytes_per_s) / 2;
  out.tiers.insert(out.tiers.begin() + 1, middle);
  return out;
}

Iteration step_on(const Trace& trace, const Machine& machine) {
  auto made = Iteration::from_trace(trace, machine);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

double steady(const Iteration& step, const Room& room, const char* name,
              const nlohmann::json& options = nlohmann::json::object()) {
  const auto policy = Registry<Policy>::make("policy", name, options);
  EXPECT_TRUE(policy) << policy.error().message;
  const auto out = replay(step, room, **policy);
  EXPECT_TRUE(out) << name << ": " << out.error().message;
  return out ? out->steady_ns() : 0;
}

Room room_of(const Iteration& step, double share, Bytes alignment = 64) {
  Room room = share_of(step, share);
  room.capacity.assign(step.tiers(), room.capacity[0]);
  room.capacity.back() = kPlenty;
  room.alignment = alignment;
  return room;
}

class NoPlanner : public ::testing::TestWithParam<const char*> {};

// Holes, small pages and tiers that it does not know of included.
TEST_P(NoPlanner, IsSlowerThanFirstTouch) {
  const auto small = read_trace("traces/samples/small.trace");
  ASSERT_TRUE(small) << small.error().message;
  for (const Machine& machine : {two_tiers(), with_a_middle()}) {
    for (const Trace& trace : {ChainJob().trace(), small->trace}) {
      const Iteration step = step_on(trace, machine);
      for (const double share : {0.05, 0.15, 0.3, 0.35, 0.5, 0.7, 0.9}) {
        for (const Bytes alignment : {Bytes{64}, Bytes{4096}}) {
          const Room room = room_of(step, share, alignment);
          EXPECT_LE(steady(step, room, GetParam()),
                    steady(step, room, "first_touch") * (1 + 1e-9))
              << step.job() << ", " << step.tiers() << " tiers, " << share
              << ", " << alignment;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NoPlanner,
                         ::testing::Values("autotm", "deeptm", "next_use",
                                           "sentinel"),
                         [](const auto& one) { return one.param; });

TEST(MiddleTiers, TakeWhatWouldStayInTheSlowest) {
  const Iteration step = step_on(ChainJob().trace(), with_a_middle());
  Room room = room_of(step, 0.2);
  const Plan slow{std::vector<TierId>(step.tensors(), 2), {}, "", false};
  const Plan filled = use_middle_tiers(slow, step, room);
  EXPECT_TRUE(check(filled, step, room));
  const auto use = peak_use(filled, step);
  EXPECT_EQ(use[0], 0u);
  EXPECT_GT(use[1], room.capacity[1] / 2);
  room.capacity[1] = 0;
  EXPECT_EQ(use_middle_tiers(slow, step, room).birth, slow.birth);
  // What moves stays the planner's.
  Plan moved = slow;
  moved.moves = {{0, 0, 1, 1}, {0, 2, 3, 3}};
  room = room_of(step, 1);
  EXPECT_EQ(use_middle_tiers(moved, step, room).birth[0], 2);
}

TEST(FirstTouchPlan, IsWhatFirstTouchDoes) {
  const Iteration step = step_of(ChainJob().trace());
  for (const double share : {0.1, 0.4, 1.0}) {
    const Room room = share_of(step, share);
    const auto plan = first_touch_plan(step, room);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(check(*plan, step, room));
    const auto out = replay(step, room, *plan);
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_NEAR(out->steady_ns(), steady(step, room, "first_touch"), 1e-3);
  }
}

TEST(SoFar, IsNoWorseThanFirstTouchEither) {
  const Iteration step = step_of(ChainJob().trace());
  Room room = share_of(step, 0.4);
  EXPECT_FALSE(so_far_no_worse(step, room).so_far);  // nobody listens
  std::vector<Plan> told;
  room.so_far = [&](const Plan& plan) { told.push_back(plan); };
  const Plan slow{std::vector<TierId>(step.tensors(), 1), {}, "", false};
  so_far_no_worse(step, room).so_far(slow);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].birth, first_touch_plan(step, room)->birth);
}

}  // namespace
}  // namespace thermocline
