// Plans carried out by a Service, on a scripted kernel.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "daemon/metrics.h"
#include "daemon/report.h"
#include "tests/daemon/planned_job.h"

namespace thermocline {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST_F(PlanTest, TensorsMoveThereAndBackInEveryStep) {
  start();
  EXPECT_TRUE(service->plans());
  play(job(10).trace());
  EXPECT_TRUE(plan().in_force);
  const auto steps = plan().counts.steps_in_force;
  EXPECT_EQ(steps, 6u);
  // Weight 0 is the job's first tensor. The guards against swings let it go.
  const auto moves = moves_of(1);
  ASSERT_GE(moves.size(), 2 * steps);
  for (std::size_t i = 0; i < moves.size(); ++i) {
    EXPECT_EQ(moves[i], i % 2 == 0 ? 1 : 0);
  }
  EXPECT_GE(plan().counts.moves_ahead, 2 * steps);
  EXPECT_EQ(plan().counts.moves_late, 0u);
  EXPECT_EQ(refused(Refusal::kPingPong), 0u);
  // Four whole pages of five: the fifth is shared at both ends.
  EXPECT_EQ(service->moves().moved.at({0, 1}),
            (moves.size() + 1) / 2 * 4 * kPage);
}

TEST_F(PlanTest, WhileThePlanIsInForceNothingElseMoves) {
  kernel.add_process(kPid, 0x40000000, 0x1000, 1);
  start();
  kernel.time += 1'000'000'000;
  EXPECT_EQ(service->end_window().moves.decided, 1u);  // online until then
  play(job(8).trace());
  ASSERT_TRUE(plan().in_force);
  service->end_window();
  kernel.time += 1'000'000'000;
  EXPECT_EQ(service->end_window().moves.decided, 0u);
  EXPECT_THAT(service->find(kPid)->explain(0), HasSubstr("in force"));
}

TEST_F(PlanTest, DriftGivesTheJobBackToTheOnlinePolicy) {
  start();
  Trace trace = job(12).trace();
  for (std::size_t i = 7 * 13; i < trace.operators.size(); ++i) {
    trace.operators[i].name += "_";
  }
  play(trace);
  EXPECT_FALSE(plan().in_force);
  EXPECT_EQ(plan().counts.drops, 1u);
  EXPECT_THAT(plan().why, HasSubstr("departs from the recorded step"));
  EXPECT_THAT(service->notices().lines(),
              Contains(HasSubstr("the plan is dropped")));
  EXPECT_THAT(service->find(kPid)->explain(0), HasSubstr("online"));
}

TEST_F(PlanTest, ItKeepsToTheBudget) {
  Service::Options options;
  options.budget = 1;  // a bucket of one region then, and no more
  options.target.region_bytes = 8 * kPage;
  start(options);
  play(job(10).trace());
  service->end_window();
  EXPECT_LE(service->moves().moved_bytes(), 8 * kPage);
  EXPECT_GT(refused(Refusal::kBudget), 0u);
  EXPECT_GT(plan().counts.moves_missed, 0u);
}

TEST_F(PlanTest, ItKeepsToTheRoomThatThereIs) {
  start();
  kernel.add_node(1, Bytes{1} << 30, kPage);  // filled up meanwhile
  play(job(8).trace());
  EXPECT_TRUE(moves_of(1).empty());
  EXPECT_GT(refused(Refusal::kCapacity), 0u);
}

TEST_F(PlanTest, MemoryThatTheJobBoundStaysWhereItIs) {
  kernel.files["proc/7/numa_maps"] = "40000000 bind:0 anon=4096 N0=4096\n";
  start();
  play(job(8).trace());
  EXPECT_TRUE(plan().in_force);
  EXPECT_TRUE(moves_of(1).empty());
  EXPECT_GT(refused(Refusal::kUnmovable), 0u);
}

TEST_F(PlanTest, PagesThatWillNotMoveAreCounted) {
  start();
  for (Address page = 0; page < 0x10; ++page) {
    kernel.status_error[0x40010000 + page * kPage] = EBUSY;
  }
  play(job(8).trace());
  EXPECT_GT(plan().counts.moves_missed, 0u);
  service->end_window();
  EXPECT_GT(service->moves().failed.at(EBUSY), 0u);
}

TEST_F(PlanTest, PausedNothingMoves) {
  start();
  service->pause(true);
  play(job(8).trace());
  EXPECT_EQ(kernel.moves(), 0u);
  EXPECT_FALSE(service->next_due());
}

TEST_F(PlanTest, LostEventsMoveNothingUntilTheNextStep) {
  start();
  play(job(8).trace());
  ASSERT_TRUE(plan().in_force);
  service->hear({kPid, Mark{kernel.time, "step 8"}});
  service->hear({kPid, Loss{0, "observer.foreign", 3}});
  EXPECT_TRUE(service->next_due());  // those are no events of ours
  service->hear({kPid, Loss{0, "observer", 3}});
  EXPECT_FALSE(service->next_due());
}

TEST_F(PlanTest, WhatOtherProcessesTellIsNotTaken) {
  start();
  for (const auto& event : live_events(job(8).trace())) {
    if (const auto* op = std::get_if<Operator>(&event.what)) {
      service->hear({kPid + 1, *op});
    }
  }
  EXPECT_EQ(plan().counts.steps_alike + plan().counts.steps_unlike, 0u);
}

TEST_F(PlanTest, APolicyWithoutPlansGoesOnOnline) {
  planning = [](const Iteration&, const Room&) {
    return Result<std::optional<Plan>>(std::optional<Plan>{});
  };
  start();
  service->follow_plans();
  EXPECT_THAT(plan().why, HasSubstr("no plan: this policy makes none"));
  EXPECT_THAT(service->notices().lines(), Contains(HasSubstr("makes none")));
  play(job(6).trace());
  EXPECT_FALSE(plan().in_force);
}

TEST_F(PlanTest, WhatAPolicySaysIsTheReason) {
  planning = [](const Iteration&, const Room&) -> Result<std::optional<Plan>> {
    return invalid("tensor 3 is larger than fast memory");
  };
  start();
  EXPECT_THAT(plan().why, HasSubstr("tensor 3 is larger"));
}

TEST_F(PlanTest, APlanThatBreaksARuleIsNotTaken) {
  planning = [this](const Iteration& it, const Room&) {
    Plan plan = weight_swaps(it);
    plan.moves.pop_back();  // the weight does not come back
    return Result<std::optional<Plan>>(plan);
  };
  start();
  EXPECT_THAT(plan().why, HasSubstr("the policy's plan"));
}

TEST_F(PlanTest, APlanThatLeavesCopiesBehindIsNotTaken) {
  planning = [this](const Iteration& it, const Room&) {
    Plan plan = weight_swaps(it);
    plan.keeps_copies = true;
    return Result<std::optional<Plan>>(plan);
  };
  start();
  EXPECT_THAT(plan().why, HasSubstr("keep_copies"));
}

TEST_F(PlanTest, APlannerThatDiesTakesNobodyAlong) {
  planning = [](const Iteration&, const Room&) -> Result<std::optional<Plan>> {
    ::_exit(3);
  };
  start();
  EXPECT_THAT(plan().why, HasSubstr("its planner failed"));
}

TEST_F(PlanTest, APlannerThatThinksForEverIsNotWaitedFor) {
  planning = [](const Iteration&, const Room&) -> Result<std::optional<Plan>> {
    for (;;) ::pause();
  };
  start({}, false);
  EXPECT_EQ(plan().why, kMaking);
  play(job(6).trace());
  kernel.time += 1'000'000'000;
  service->end_window();
  service.reset();  // and ends the child
}

TEST_F(PlanTest, ThePlannerKnowsTheRoom) {
  auto trace = job(4).trace();
  auto recorded = Iteration::from_trace(trace, scripted_machine());
  basis = std::make_shared<const PlanBasis>(
      PlanBasis{"job.trace", *std::move(recorded), true, Bytes{100} << 20});
  planning = [](const Iteration&,
                const Room& room) -> Result<std::optional<Plan>> {
    return invalid(std::to_string(room.capacity[0] >> 20) + " " +
                   std::to_string(room.capacity[1] >> 20) + " " +
                   std::to_string(room.copy_bytes_per_s));
  };
  Service::Options options;
  options.headroom = 0;
  options.budget = 1000;
  start(options);
  // 512 MiB free, and the 16 that the job has there, but for 100 MiB.
  EXPECT_THAT(plan().why, HasSubstr("428 512 1000.0"));
}

TEST_F(PlanTest, AnotherPolicyMakesAnotherPlan) {
  start();
  play(job(8).trace());
  ASSERT_TRUE(plan().in_force);
  planning = [](const Iteration& it, const Room&) {
    return Result<std::optional<Plan>>(
        Plan{std::vector<TierId>(it.tensors(), 0), {}, "the second"});
  };
  ASSERT_TRUE(service->set_policy("other", "{}"));
  EXPECT_FALSE(plan().in_force);
  EXPECT_EQ(plan().why, kMaking);
}

TEST_F(PlanTest, IsReportedAndMeasured) {
  start();
  play(job(8).trace());
  const auto report = nlohmann::json::parse(final_report(*service, {}));
  const auto& plan = report["targets"][0]["plan"];
  EXPECT_EQ(plan["in_force"], true);
  EXPECT_EQ(plan["trace"], "job.trace");
  EXPECT_GT(plan["moves"]["ahead"], 0);
  const auto text = metrics_text(*service, {});
  EXPECT_THAT(text, HasSubstr("thermocline_plan_in_force{pid=\"7\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("thermocline_plan_moves_total{pid=\"7\","
                              "when=\"late\"} 0\n"));
}

}  // namespace
}  // namespace thermocline
