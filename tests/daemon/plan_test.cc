// Plans carried out by a Service, on a scripted kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "daemon/metrics.h"
#include "daemon/report.h"
#include "daemon/service.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/policies/live_events.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr Address kPage = ScriptedKernel::kPage;
constexpr Nanos kOp = 10'000'000;
constexpr int kPid = 7;
constexpr const char* kMaking = "the plan is being made";

// Tensors of a few pages, none of which begins on one.
ChainJob job(int steps) {
  ChainJob out;
  out.steps = steps;
  out.operator_ns = kOp;
  out.weight = 5 * kPage;
  out.activation = 8 * kPage;
  return out;
}

Address address_of(ObjectId serial) { return 0x40000100 + serial * 0x10000; }

using Planning =
    std::function<Result<std::optional<Plan>>(const Iteration&, const Room&)>;

// Decides to move object 0 in every window, and plans as it is told to.
class PlanningPolicy final : public Policy {
 public:
  explicit PlanningPolicy(Planning planning) : planning_(std::move(planning)) {}
  std::vector<Move> decide(const View& view) override {
    if (view.objects.empty() || view.objects[0].tier != 1) return {};
    return {{0, 1, 0}};
  }
  double heat(ObjectId) const override { return 0; }
  std::string explain(ObjectId) const override { return "online"; }
  Result<std::optional<Plan>> plan(const Iteration& iteration,
                                   const Room& room) override {
    return planning_(iteration, room);
  }

 private:
  Planning planning_;
};

class PlanTest : public testing::Test {
 protected:
  void SetUp() override {
    kernel.add_node(0, Bytes{1} << 30, Bytes{1} << 29);
    kernel.add_node(1, Bytes{1} << 30, Bytes{1} << 29);
    kernel.files["proc/sys/kernel/numa_balancing"] = "0\n";
    kernel.add_process(kPid, 0x40000000, 0x1000, 0);
    auto recorded = Iteration::from_trace(job(4).trace(), scripted_machine());
    ASSERT_TRUE(recorded) << recorded.error().message;
    basis = std::make_shared<const PlanBasis>(
        PlanBasis{"job.trace", *std::move(recorded), true, 0});
    planning = [this](const Iteration& iteration, const Room&) {
      return Result<std::optional<Plan>>(weight_swaps(iteration));
    };
  }
  const Iteration& iteration() const { return basis->iteration; }
  std::uint32_t weight() const {
    for (const auto t : iteration().op(1).reads) {
      if (iteration().tensor(t).label == "parameter") return t;
    }
    return 0;
  }
  // Weight 0 goes to slow memory after its forward, back before its backward.
  Plan weight_swaps(const Iteration& it) const {
    return {std::vector<TierId>(it.tensors(), 0),
            {{weight(), 1, 3, 4}, {weight(), 0, 6, 8}},
            "made by hand"};
  }
  void start(Service::Options options = {}, bool wait = true) {
    options.plan = basis;
    auto made = Service::make(kernel, scripted_machine(), options,
                              [this](const std::string&, const std::string&) {
                                return Result<std::unique_ptr<Policy>>(
                                    std::make_unique<PlanningPolicy>(planning));
                              });
    ASSERT_TRUE(made) << made.error().message;
    service = *std::move(made);
    ASSERT_TRUE(service->attach(kPid));
    // The plan is made by another process: until it has answered.
    for (int i = 0; wait && i < 1000 && plan().why == kMaking; ++i) {
      ::usleep(10'000);
      service->glance();
    }
  }
  PlanReport plan() const { return *service->find(kPid)->report().plan; }
  // Hears the job as the loop does: promptly, and at the times asked for.
  void play(const Trace& trace) {
    const auto events = live_events(trace);
    play(std::span(events));
  }
  void play(std::span<const LiveEvent> events) {
    for (const auto& event : events) {
      wait_until(event.time);
      hear(event);
      service->follow_plans();
    }
  }
  void wait_until(Nanos time) {
    for (auto due = service->next_due(); due && *due <= time;) {
      kernel.time = std::max(kernel.time, *due);
      service->follow_plans();
      const auto next = service->next_due();
      if (next == due) break;
      due = next;
    }
    kernel.time = std::max(kernel.time, time);
  }
  void hear(const LiveEvent& event) {
    ObserverEvent out;
    out.pid = kPid;
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      Tensor placed = *tensor;
      placed.address = address_of(tensor->serial);
      out.what = placed;
    } else if (const auto* dead = std::get_if<LiveEvent::Died>(&event.what)) {
      out.what = TensorDied{dead->serial, event.time};
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      out.what = *op;
    } else {
      out.what = std::get<Mark>(event.what);
    }
    service->hear(out);
  }
  // Calls to the kernel that moved pages of a tensor, by node.
  std::vector<int> moves_of(ObjectId serial) const {
    std::vector<int> out;
    for (const auto& call : kernel.calls) {
      if (call.query) continue;
      for (const Address page : call.pages) {
        if (page / 0x10000 == address_of(serial) / 0x10000) {
          out.push_back(call.node);
          break;
        }
      }
    }
    return out;
  }
  std::uint64_t refused(Refusal why) {
    kernel.time += 1;
    service->end_window();
    return service->moves().refused[static_cast<std::size_t>(why)];
  }

  ScriptedKernel kernel;
  std::shared_ptr<const PlanBasis> basis;
  Planning planning;
  std::unique_ptr<Service> service;
};

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
