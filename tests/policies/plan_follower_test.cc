#include "policies/plan_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/policies/live_events.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using State = PlanFollower::State;

constexpr Nanos kOp = 1'000'000;

ChainJob chain(int steps) {
  ChainJob job;
  job.steps = steps;
  job.operator_ns = kOp;
  return job;
}

Iteration recorded() {
  auto out = Iteration::from_trace(chain(4).trace(), two_tiers());
  CHECK(out);
  return *std::move(out);
}

// Hears a job `late` after its events, asks every `every`, and moves at once.
class Driver {
 public:
  struct Move {
    Nanos time = 0;
    std::uint32_t tensor = 0;
    ObjectId serial = 0;
    TierId to = 0;
  };
  explicit Driver(const Iteration& iteration) : follower(iteration, true) {}

  void play(const Trace& trace) {
    for (const auto& event : live_events(trace)) {
      const Nanos heard = event.time + late;
      for (; now < heard; now += every) turn();
      hear(event);
    }
  }
  void hear(const LiveEvent& event) {
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      follower.born(*tensor);
    } else if (const auto* dead = std::get_if<LiveEvent::Died>(&event.what)) {
      follower.died(dead->serial);
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      if (losing && ++heard_ % 3 == 0) {
        follower.lost();
        EXPECT_TRUE(follower.due(now + 1'000'000'000).empty());
        return;
      }
      follower.ran(*op, now);
    } else {
      follower.mark(std::get<Mark>(event.what));
    }
    for (auto& line : follower.news()) news.push_back(std::move(line));
  }
  void turn() {
    for (const auto& wish : follower.due(now)) {
      if (refuse && refuse(wish)) {
        follower.refused(wish, now, again);
        continue;
      }
      moves.push_back({now, wish.tensor, wish.live.serial, wish.to});
      follower.done(wish, now, 0);
    }
  }
  std::vector<Move> of(std::uint32_t tensor) const {
    std::vector<Move> out;
    for (const auto& move : moves) {
      if (move.tensor == tensor) out.push_back(move);
    }
    return out;
  }

  PlanFollower follower;
  Nanos late = 100'000;
  Nanos every = 50'000;
  Nanos now = 0;
  bool losing = false;
  bool again = true;
  std::function<bool(const PlanFollower::Wish&)> refuse;
  std::vector<Move> moves;
  std::vector<std::string> news;

 private:
  int heard_ = 0;
};

class Follows : public testing::Test {
 protected:
  // The weight of layer 0: forward at operator 1, backward at 8, optimizer 9.
  std::uint32_t weight() const {
    const auto& reads = iteration.op(1).reads;
    for (const auto t : reads) {
      if (iteration.tensor(t).label == "parameter") return t;
    }
    return 0;
  }
  // What layer 0's forward writes: read by operators 2 and 7.
  std::uint32_t activation() const { return iteration.op(1).writes.at(0); }
  Plan all_fast() const {
    return {std::vector<TierId>(iteration.tensors(), 0), {}, ""};
  }
  // The weight leaves after its forward, and comes back for its backward.
  Plan weight_swaps() const {
    Plan plan = all_fast();
    plan.moves = {{weight(), 1, 3, 4}, {weight(), 0, 6, 8}};
    const auto ok = check(plan, iteration, {{1 << 30, 1 << 30}, 1e9});
    CHECK(ok);
    return plan;
  }
  Iteration iteration = recorded();
};

TEST_F(Follows, MovesComeAheadOfUseInEveryStep) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  job.play(chain(10).trace());
  EXPECT_TRUE(job.follower.in_force());
  const auto moves = job.of(weight());
  // Once where it lies at first, then there and back in each step in force.
  const auto steps = job.follower.counts().steps_in_force;
  EXPECT_EQ(steps, 6u);
  ASSERT_GE(moves.size(), 1 + 2 * steps);
  for (std::size_t i = 1; i < moves.size(); ++i) {
    EXPECT_NE(moves[i].to, moves[i - 1].to);
    EXPECT_EQ(moves[i].serial, moves[0].serial);
  }
  const Trace trace = chain(10).trace();
  for (const auto& move : moves) {
    if (move.to != 1) continue;
    // Not before the operator that precedes it was heard to have ended.
    bool in_time = false;
    for (std::size_t i = 3; i < trace.operators.size(); i += 13) {
      const Nanos since = move.time - trace.operators[i].start;
      in_time = in_time || (since >= 0 && since <= job.late + 2 * job.every);
    }
    EXPECT_TRUE(in_time) << move.time;
  }
  // The last step's are not judged before it ends.
  EXPECT_GE(job.follower.counts().moves_ahead, 2 * steps);
  EXPECT_EQ(job.follower.counts().moves_late, 0u);
  EXPECT_EQ(job.follower.counts().moves_missed, 0u);
}

TEST_F(Follows, EventsThatComeLateAreMadeUpForByTheClock) {
  Driver job(iteration);
  job.late = 3 * kOp;  // the way back may begin two operators before its use
  job.follower.set_plan(weight_swaps());
  job.play(chain(24).trace());
  const auto& counts = job.follower.counts();
  EXPECT_GE(counts.steps_in_force, 18u);
  EXPECT_GE(counts.moves_ahead, 15u);  // all that came back
  for (const auto& move : job.of(weight())) {
    if (move.to == 1) continue;
    EXPECT_GE(move.time, 0);
  }
}

TEST_F(Follows, NothingMovesBeforeTheStepIsKnown) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  EXPECT_EQ(job.follower.state(), State::kLearning);
  job.play(chain(2).trace());
  EXPECT_TRUE(job.moves.empty());
  EXPECT_FALSE(job.follower.in_force());
  EXPECT_THAT(job.follower.describe(), HasSubstr("2 steps in a row"));
}

TEST_F(Follows, APlanThatComesLateIsTakenUpAtOnce) {
  Driver job(iteration);
  job.play(chain(5).trace());
  EXPECT_EQ(job.follower.state(), State::kNoPlan);
  EXPECT_TRUE(job.moves.empty());
  job.follower.set_plan(weight_swaps());
  EXPECT_TRUE(job.follower.in_force());
}

TEST_F(Follows, TensorsGoToTheirBirthTierOnceTheyAreTouched) {
  Plan plan = all_fast();
  plan.birth[activation()] = 1;
  Driver job(iteration);
  job.follower.set_plan(plan);
  const Trace trace = chain(8).trace();
  job.play(trace);
  std::map<ObjectId, int> moved;
  for (const auto& move : job.of(activation())) {
    EXPECT_EQ(move.to, 1);
    ++moved[move.serial];
    // Its first use has ended, its last has not.
    const Tensor& truth = trace.tensors[move.serial - 1];
    EXPECT_GE(move.time, truth.born + kOp);
    EXPECT_LT(move.time, truth.died);
  }
  // In each step that is in force it is another tensor, moved once.
  EXPECT_GE(moved.size(), 4u);
  for (const auto& [serial, times] : moved) EXPECT_EQ(times, 1);
  EXPECT_GE(job.follower.counts().births_moved, 4u);
}

TEST_F(Follows, ALifeTooShortIsNotWorthAMove) {
  Plan plan = all_fast();
  // Backward's gradient of layer 3's input: dead one operator later.
  std::uint32_t brief = 0;
  for (const auto t : iteration.op(5).writes) {
    if (!iteration.tensor(t).wraps) brief = t;
  }
  ASSERT_EQ(iteration.tensor(brief).dies - iteration.tensor(brief).born, 2u);
  plan.birth[brief] = 1;
  Driver job(iteration);
  job.late = kOp;  // heard of when it is nearly over
  job.follower.set_plan(plan);
  job.play(chain(8).trace());
  EXPECT_TRUE(job.of(brief).empty());
  EXPECT_GE(job.follower.counts().births_left, 3u);
}

TEST_F(Follows, DriftDropsThePlanAndItComesBackWhenTheJobDoes) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  // Six steps as recorded, four of another depth, then many as recorded.
  Trace trace = chain(20).trace();
  for (std::size_t i = 6 * 13; i < 10 * 13; ++i) {
    trace.operators[i].name += "_";
  }
  job.play(trace);
  EXPECT_EQ(job.follower.counts().drops, 1u);
  EXPECT_EQ(job.follower.counts().steps_unlike, 5u);  // the first as well
  EXPECT_TRUE(job.follower.in_force());
  ASSERT_EQ(job.news.size(), 3u);
  EXPECT_THAT(job.news[0], HasSubstr("the plan is in force: 2 moves a step"));
  EXPECT_THAT(job.news[1], HasSubstr("departs from the recorded step"));
  EXPECT_THAT(job.news[1], HasSubstr("after 4 steps that match"));
  EXPECT_THAT(job.news[2], HasSubstr("in force"));
  for (const auto& move : job.moves) {
    const bool apart = move.time > trace.operators[8 * 13].start &&
                       move.time < trace.operators[13 * 13].start;
    EXPECT_FALSE(apart) << move.time;
  }
}

TEST_F(Follows, OneOddStepIsForgivenButNothingMovesInIt) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  Trace trace = chain(12).trace();
  for (std::size_t i = 6 * 13; i < 7 * 13; ++i) trace.operators[i].name = "x";
  job.play(trace);
  EXPECT_EQ(job.follower.counts().drops, 0u);
  for (const auto& move : job.moves) {
    EXPECT_FALSE(move.time > trace.operators[6 * 13 + 1].start + kOp &&
                 move.time < trace.operators[7 * 13].start);
  }
}

TEST_F(Follows, StepsThatBecomeMuchLongerDropThePlan) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  Trace trace = chain(60).trace();
  const Nanos from = trace.operators[7 * 13].start;
  const auto stretch = [&](Nanos& time) {
    if (time > from) time = from + 30 * (time - from);
  };
  for (auto& op : trace.operators) stretch(op.start), stretch(op.end);
  for (auto& one : trace.tensors) stretch(one.born), stretch(one.died);
  for (auto& one : trace.marks) stretch(one.time);
  job.play(trace);
  ASSERT_GE(job.news.size(), 2u);
  EXPECT_THAT(job.news[1], HasSubstr("a step takes"));
}

TEST_F(Follows, AStallIsNoReasonToDropThePlan) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  Trace trace = chain(20).trace();
  for (const std::size_t step : {3, 4, 9, 10, 11}) {  // and the first in force
    const Nanos from = trace.operators[step * 13 + 5].start;
    const auto stall = [&](Nanos& time) {
      if (time >= from) time += 100 * kOp;
    };
    for (auto& op : trace.operators) stall(op.start), stall(op.end);
    for (auto& one : trace.tensors) stall(one.born), stall(one.died);
    for (auto& one : trace.marks) stall(one.time);
  }
  job.play(trace);
  EXPECT_TRUE(job.follower.in_force());
  EXPECT_EQ(job.follower.counts().drops, 0u);
}

TEST_F(Follows, LostEventsEndInTheOnlinePolicyNotInWrongMoves) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  job.play(chain(6).trace());
  ASSERT_TRUE(job.follower.in_force());
  const auto before = job.moves.size();
  job.losing = true;
  Trace more = chain(20).trace();
  for (auto& op : more.operators) op.start += job.now, op.end += job.now;
  for (auto& one : more.tensors) one.born += job.now;
  for (auto& one : more.marks) one.time += job.now;
  job.play(more);
  EXPECT_EQ(job.follower.state(), State::kDropped);
  EXPECT_THAT(job.follower.describe(), HasSubstr("lost"));
  EXPECT_LE(job.moves.size(), before + 8 * iteration.tensors());
  EXPECT_TRUE(job.follower.due(job.now + 1'000'000'000).empty());
  EXPECT_FALSE(job.follower.next_due());
}

TEST_F(Follows, WhatIsRefusedIsAskedAgainAndGivenUpInTheEnd) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  std::map<std::pair<std::uint32_t, TierId>, int> asked;
  job.refuse = [&](const PlanFollower::Wish& wish) {
    return wish.tensor == weight() && ++asked[{wish.tensor, wish.to}] % 2 == 1;
  };
  job.play(chain(20).trace());
  EXPECT_GE(
      job.follower.counts().moves_waited + job.follower.counts().moves_missed,
      10u);
  job.again = false;
  job.refuse = [](const PlanFollower::Wish&) { return true; };
  EXPECT_TRUE(job.follower.in_force());
}

TEST_F(Follows, ItSaysWhenItWantsToBeAsked) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  EXPECT_FALSE(job.follower.next_due());
  Nanos soonest = 0;
  const Trace trace = chain(8).trace();
  for (const auto& event : live_events(trace)) {
    job.now = event.time;
    job.hear(event);
    job.turn();
    if (!job.follower.in_force()) continue;
    // After due() nothing is left that is due by now.
    if (const auto at = job.follower.next_due()) {
      EXPECT_GT(*at, job.now);
      soonest = soonest == 0 ? *at - job.now : std::min(soonest, *at - job.now);
    }
  }
  EXPECT_GT(soonest, 0);
}

TEST_F(Follows, AnotherJobIsSaidToBeAnother) {
  Driver job(iteration);
  job.follower.set_plan(weight_swaps());
  ChainJob other = chain(12);
  other.layers = 6;
  job.play(other.trace());
  EXPECT_EQ(job.follower.state(), State::kLearning);
  ASSERT_EQ(job.news.size(), 1u);
  EXPECT_THAT(job.news[0], HasSubstr("was another job recorded"));
}

TEST_F(Follows, TellsWhereThePlanWantsWhatLiesAtAnAddress) {
  Plan plan = weight_swaps();
  Driver job(iteration);
  job.follower.set_plan(plan);
  job.play(chain(8).trace());
  const Trace trace = chain(8).trace();
  const auto serial = job.of(weight()).front().serial;
  const Tensor& one = trace.tensors[serial - 1];
  EXPECT_TRUE(job.follower.wanted_at(one.address));
  EXPECT_FALSE(job.follower.wanted_at(1));
}

}  // namespace
}  // namespace thermocline
