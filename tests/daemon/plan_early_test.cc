// Plans that are followed while a better one is looked for.
#include <gmock/gmock.h>

#include "tests/daemon/planned_job.h"

namespace thermocline {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST_F(PlanTest, WhatIsFoundOnTheWayIsFollowedMeanwhile) {
  planning = [this](const Iteration& it,
                    const Room& room) -> Result<std::optional<Plan>> {
    Plan illegal = weight_swaps(it);
    illegal.moves.pop_back();
    room.so_far(Plan{std::vector<TierId>(it.tensors(), 0), {}, "one", false});
    room.so_far(weight_swaps(it));
    room.so_far(illegal);
    for (;;) ::pause();
  };
  start();
  EXPECT_THAT(plan().why, HasSubstr("a better plan is being looked for"));
  play(job(8).trace());
  EXPECT_TRUE(plan().in_force);
  EXPECT_GT(plan().counts.moves_ahead, 0u);  // of the second
  EXPECT_THAT(service->notices().lines(), Contains(HasSubstr("made by hand")));
  service.reset();  // and ends the child
}

TEST_F(PlanTest, ABetterPlanTakesTheEarlyOnesPlace) {
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  planning = [&](const Iteration& it,
                 const Room& room) -> Result<std::optional<Plan>> {
    room.so_far(Plan{std::vector<TierId>(it.tensors(), 0), {}, "one", false});
    char any = 0;
    if (::read(go[0], &any, 1) != 1) ::_exit(3);
    return std::optional<Plan>(weight_swaps(it));
  };
  start();
  const auto events = live_events(job(16).trace());
  const std::size_t half = events.size() / 2;
  play(std::span(events).first(half));
  ASSERT_TRUE(plan().in_force);
  EXPECT_EQ(plan().counts.moves_ahead, 0u);
  ASSERT_EQ(::write(go[1], "!", 1), 1);
  for (int i = 0; i < 1000 && plan().why != "the plan is in force"; ++i) {
    ::usleep(10'000);
    service->glance();
  }
  EXPECT_EQ(plan().why, "the plan is in force");
  EXPECT_TRUE(plan().in_force);  // at once: the job is known by now
  play(std::span(events).subspan(half));
  EXPECT_GT(plan().counts.moves_ahead, 0u);
  ::close(go[0]);
  ::close(go[1]);
}

TEST_F(PlanTest, AnEarlyPlanOutlivesItsPlanner) {
  planning = [this](const Iteration& it,
                    const Room& room) -> Result<std::optional<Plan>> {
    room.so_far(weight_swaps(it));
    ::usleep(100'000);
    ::_exit(3);
  };
  start();
  for (int i = 0; i < 1000; ++i) {
    ::usleep(10'000);
    service->glance();
    if (plan().why.find("looked for") == std::string::npos) break;
  }
  play(job(8).trace());
  EXPECT_TRUE(plan().in_force);
  EXPECT_EQ(plan().why, "the plan is in force");
  EXPECT_THAT(service->notices().lines(),
              Contains(HasSubstr("not made any better: its planner failed")));
}

}  // namespace
}  // namespace thermocline
