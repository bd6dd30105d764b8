#include "policies/step_follower.h"

#include <gtest/gtest.h>

#include "tests/policies/live_events.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

Iteration recorded(const ChainJob& job) {
  auto out = Iteration::from_trace(job.trace(), two_tiers());
  CHECK(out);
  return *std::move(out);
}

class Following {
 public:
  explicit Following(const Iteration& iteration, bool marked = true)
      : follower(iteration, marked) {}
  void hear(const LiveEvent& event) {
    std::optional<StepFollower::Ended> end;
    if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
      follower.born(*tensor);
    } else if (const auto* dead = std::get_if<LiveEvent::Died>(&event.what)) {
      follower.died(dead->serial);
    } else if (const auto* op = std::get_if<Operator>(&event.what)) {
      end = follower.ran(*op);
    } else {
      end = follower.mark(std::get<Mark>(event.what));
    }
    if (end) ended.push_back(*end);
  }
  void hear(const std::vector<LiveEvent>& events) {
    for (const auto& event : events) hear(event);
  }
  std::size_t alike() const {
    std::size_t sum = 0;
    for (const auto& one : ended) sum += one.alike ? 1 : 0;
    return sum;
  }
  StepFollower follower;
  std::vector<StepFollower::Ended> ended;
};

TEST(StepFollower, FollowsALongerRunOfTheRecordedJob) {
  const auto iteration = recorded({});
  ChainJob live;
  live.steps = 9;
  Following job(iteration);
  job.hear(live_events(live.trace()));
  // The first step makes the momenta and has no gradients to zero; the last
  // is not over.
  ASSERT_EQ(job.ended.size(), 8u);
  EXPECT_EQ(job.alike(), 7u);
  EXPECT_EQ(job.ended[3].found, 1);
  EXPECT_EQ(job.ended[3].length_ns,
            static_cast<Nanos>(live.operators()) * live.operator_ns);
}

TEST(StepFollower, KnowsEachTensorAfterItsFirstUse) {
  const ChainJob small;
  const auto iteration = recorded(small);
  ChainJob live;
  live.steps = 6;
  const Trace trace = live.trace();
  Following job(iteration);
  std::size_t known = 0;
  for (const auto& event : live_events(trace)) {
    job.hear(event);
    const auto* op = std::get_if<Operator>(&event.what);
    if (op == nullptr || job.ended.size() < 3) continue;
    // What this operator uses is what the step's operator uses.
    const auto& step = iteration.op(job.follower.position() - 1);
    for (const auto t : step.reads) {
      const auto& found = job.follower.tensor(t);
      ASSERT_NE(found.serial, 0u);
      EXPECT_EQ(std::count(op->reads.begin(), op->reads.end(), found.serial),
                1);
      const auto& truth = trace.tensors[found.serial - 1];
      EXPECT_EQ(found.address, truth.address);
      EXPECT_EQ(iteration.tensor(t).label, truth.label);
      ++known;
    }
  }
  EXPECT_GT(known, 50u);
}

TEST(StepFollower, WeightsKeepTheirNumberFromStepToStep) {
  const auto iteration = recorded({});
  ChainJob live;
  live.steps = 8;
  Following job(iteration);
  std::vector<ObjectId> before;
  for (const auto& event : live_events(live.trace())) {
    job.hear(event);
    if (!std::holds_alternative<Mark>(event.what)) continue;
    std::vector<ObjectId> now;
    for (std::uint32_t t = 0; t < iteration.tensors(); ++t) {
      if (iteration.tensor(t).persistent) {
        now.push_back(job.follower.tensor(t).serial);
      }
    }
    if (job.ended.size() > 2) {
      EXPECT_EQ(now, before);
    }
    before = now;
  }
  EXPECT_EQ(before.size(), 9u);
}

TEST(StepFollower, LearnsWhenOperatorsBegin) {
  const auto iteration = recorded({});
  ChainJob live;
  live.steps = 5;
  live.operator_ns = 70'000;  // not what was recorded
  Following job(iteration);
  const auto events = live_events(live.trace());
  EXPECT_FALSE(job.follower.timed());
  for (const auto& event : events) {
    if (job.ended.size() == 3 && job.follower.position() == 2) break;
    job.hear(event);
  }
  ASSERT_TRUE(job.follower.timed());
  const auto began = job.follower.step_began();
  EXPECT_EQ(job.follower.expected(1), began + 70'000);
  EXPECT_EQ(job.follower.expected(7), began + 7 * 70'000);
  EXPECT_EQ(job.follower.expected(iteration.operators()), began + 13 * 70'000);
  EXPECT_DOUBLE_EQ(job.follower.length_ns(), 13 * 70'000.0);
}

TEST(StepFollower, AnotherShapeIsNotAlike) {
  const auto iteration = recorded({});
  ChainJob bigger;
  bigger.activation *= 2;
  bigger.steps = 5;
  Following job(iteration);
  job.hear(live_events(bigger.trace()));
  EXPECT_EQ(job.alike(), 0u);
  ASSERT_FALSE(job.ended.empty());
  EXPECT_EQ(job.ended.back().missing + job.ended.back().extra, 0u);
  EXPECT_LT(job.ended.back().found, 0.5);
  EXPECT_FALSE(job.follower.timed());
}

TEST(StepFollower, AnotherDepthIsNotAlike) {
  const auto iteration = recorded({});
  ChainJob deeper;
  deeper.layers = 5;
  deeper.steps = 5;
  Following job(iteration);
  job.hear(live_events(deeper.trace()));
  EXPECT_EQ(job.alike(), 0u);
  EXPECT_EQ(job.ended.back().extra, 3u);
}

TEST(StepFollower, OneOddOperatorOfManyIsBorne) {
  ChainJob many;
  many.layers = 40;
  const auto iteration = recorded(many);
  many.steps = 6;
  Trace trace = many.trace();
  Operator odd = trace.operators[121 * 3 + 50];
  odd.name = "print";
  odd.reads.clear();
  odd.writes.clear();
  trace.operators[121 * 3 + 51].name = "other";
  trace.operators.insert(trace.operators.begin() + 121 * 3 + 51, odd);
  Following job(iteration);
  job.hear(live_events(trace));
  ASSERT_EQ(job.ended.size(), 5u);
  EXPECT_TRUE(job.ended[3].alike);
  EXPECT_EQ(job.ended[3].extra, 2u);
  EXPECT_EQ(job.ended[3].missing, 1u);
}

TEST(StepFollower, AnotherThreadMayComeInBetweenAnywhere) {
  ChainJob many;
  many.layers = 40;
  const auto iteration = recorded(many);
  many.steps = 12;
  Trace trace = many.trace();
  std::vector<Operator> mixed;
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    mixed.push_back(trace.operators[i]);
    if (i % 47 != 0) continue;  // elsewhere in each step: they have 121
    Operator other = trace.operators[i];
    other.name = "aten::copy_";
    other.thread = 2;
    other.reads.clear();
    other.writes.clear();
    mixed.push_back(other);
  }
  // And neighbours that change places, as threads' operators do.
  for (std::size_t i = 200; i + 1 < mixed.size(); i += 150) {
    std::swap(mixed[i], mixed[i + 1]);
    std::swap(mixed[i].end, mixed[i + 1].end);
  }
  trace.operators = mixed;
  Following job(iteration);
  job.hear(live_events(trace));
  EXPECT_EQ(job.ended.size(), 11u);
  EXPECT_EQ(job.alike(), 10u);
}

TEST(StepFollower, AfterALossItWaitsForTheNextStep) {
  const auto iteration = recorded({});
  ChainJob live;
  live.steps = 8;
  const auto events = live_events(live.trace());
  Following job(iteration);
  std::size_t skip = 0;
  for (const auto& event : events) {
    if (job.ended.size() == 4 && job.follower.position() == 3 && skip == 0) {
      job.follower.lost();
      skip = 12;
    }
    if (skip > 1) {
      --skip;
      continue;
    }
    job.hear(event);
    if (skip == 1 && job.ended.size() == 4) {
      EXPECT_FALSE(job.follower.on_track());
    }
  }
  ASSERT_EQ(job.ended.size(), 7u);
  EXPECT_TRUE(job.ended[4].lost);
  EXPECT_FALSE(job.ended[4].alike);
  EXPECT_TRUE(job.ended[6].alike);
}

TEST(StepFollower, WithoutMarksItFindsTheStepByItsFirstOperator) {
  const ChainJob small;
  const auto iteration = recorded(small);
  ChainJob live;
  live.steps = 9;
  Trace trace = live.trace();
  trace.marks.clear();
  auto events = live_events(trace);
  // It comes into the middle of the second step, having missed some births.
  Following job(iteration, false);
  std::size_t operators = 0;
  for (const auto& event : events) {
    const bool op = std::holds_alternative<Operator>(event.what);
    operators += op ? 1 : 0;
    if (op && operators < 18) continue;
    job.hear(event);
  }
  EXPECT_GE(job.alike(), 5u);
  EXPECT_EQ(job.alike(), job.ended.size());
}

TEST(StepFollower, EndsAreBoundedWhenNothingEverMatchesAgain) {
  const auto iteration = recorded({});
  Trace trace = ChainJob{}.trace();
  Following job(iteration, false);
  trace.marks.clear();
  job.hear(live_events(trace));
  Operator other;
  other.name = "something else";
  for (int i = 0; i < 100; ++i) job.hear({0, other});
  EXPECT_FALSE(job.follower.on_track());
  EXPECT_FALSE(job.ended.back().alike);
}

TEST(StepFollower, UnknownTensorsAndNonsenseAreBorne) {
  const auto iteration = recorded({});
  StepFollower follower(iteration, true);
  follower.died(99);
  Operator op;
  op.name = "forward";
  op.reads = {1, 2, 3, 3};
  op.writes = {1'000'000};
  EXPECT_FALSE(follower.ran(op));
  EXPECT_FALSE(follower.mark({5, "start"}));
  EXPECT_FALSE(follower.mark({5, "step 1"}));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(follower.ran(op));
  EXPECT_FALSE(follower.plausible());
  EXPECT_TRUE(follower.mark({6, "step 2"}));
  follower.lost();
  follower.lost();
  EXPECT_TRUE(follower.mark({7, "step 3"})->lost);
}

}  // namespace
}  // namespace thermocline
