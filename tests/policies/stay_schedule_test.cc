// deeptm's plans on random jobs, and the parts that they are made of.
#include "policies/stay_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/bounds.h"
#include "policies/neighbours.h"
#include "policies/replay.h"
#include "policies/stay_search.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/random_jobs.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

std::unique_ptr<Decider> rule(double margin = 1) {
  auto made = Registry<Decider>::make("decider", "rule", {{"margin", margin}});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Result<Plan> search(const Iteration& step, const Room& given,
                    std::size_t trials) {
  const auto decider = rule();
  StaySearch::Options options;
  options.trials = trials;
  return StaySearch(step, given, *decider, options).run();
}

TEST(StaySchedule, PlansFitAnyRoomOnRandomJobs) {
  std::size_t moves = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Iteration step = step_of(random_job(seed, 12 + seed % 8, 24));
    for (const double share : {0.0, 0.1, 0.3, 0.5, 0.8}) {
      const Room given = share_of(step, share);
      const auto plan = search(step, given, 6);
      ASSERT_TRUE(plan) << seed << ' ' << share << plan.error().message;
      const auto ok = check(*plan, step, given);
      EXPECT_TRUE(ok) << seed << ' ' << share << ok.error().message;
      moves += plan->moves.size();
    }
  }
  EXPECT_GT(moves, 500u);  // the jobs are such that it matters
}

TEST(StaySchedule, PlansOfChainsWhoseLivesWrapFitAnyRoom) {
  std::size_t moves = 0;
  for (const int layers : {1, 2, 5, 9, 17}) {
    ChainJob job;
    job.layers = layers;
    const Iteration step = step_of(job.trace());
    for (double share = 0; share < 1.05; share += 0.05) {
      const Room given = share_of(step, share);
      const auto plan = search(step, given, 4);
      ASSERT_TRUE(plan) << layers << ' ' << share << plan.error().message;
      const auto ok = check(*plan, step, given);
      EXPECT_TRUE(ok) << layers << ' ' << share << ok.error().message;
      moves += plan->moves.size();
    }
  }
  EXPECT_GT(moves, 100u);
}

TEST(StaySchedule, AskedToStopItComesBackWithTheBestSoFar) {
  const Iteration step = step_of(random_job(3, 30, 60));
  Room given = share_of(step, 0.3);
  const auto whole = search(step, given, 40);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_THAT(whole->note, testing::HasSubstr("; 40 trials"));
  int asked = 0;
  given.go_on = [&] { return ++asked <= 5; };
  const auto cut = search(step, given, 40);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(check(*cut, step, given));
  EXPECT_THAT(cut->note, testing::HasSubstr("; 5 trials"));
  EXPECT_LT(asked, 60);  // it does not go on asking either
}

TEST(StaySchedule, OutOfTimeItHasItsFirstPlan) {
  const Iteration step = step_of(random_job(3, 30, 60));
  const Room given = share_of(step, 0.3);
  const auto decider = rule();
  StaySearch::Options options;
  options.seconds = 0;
  const auto plan = StaySearch(step, given, *decider, options).run();
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_TRUE(check(*plan, step, given));
  EXPECT_THAT(plan->note, testing::HasSubstr("; 0 trials"));
}

TEST(StaySchedule, WithAllTheRoomNothingMoves) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Iteration step = step_of(random_job(seed, 14, 24));
    const auto plan = search(step, {{kPlenty, kPlenty}}, 20);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(plan->moves.empty());
    const auto out = replay(step, {{kPlenty, kPlenty}}, *plan, {.steps = 2});
    ASSERT_TRUE(out);
    EXPECT_NEAR(out->steady_ns(), step.all_fast_ns(),
                1e-9 * step.all_fast_ns());
  }
}

TEST(StaySchedule, MoreTrialsAreNeverWorse) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const Iteration step = step_of(random_job(seed, 14, 24));
    const Room given = share_of(step, 0.3);
    double last = std::numeric_limits<double>::infinity();
    for (const std::size_t trials : {0, 10, 80}) {
      const auto plan = search(step, given, trials);
      ASSERT_TRUE(plan) << plan.error().message;
      const auto out = replay(step, given, *plan);
      ASSERT_TRUE(out);
      EXPECT_LE(out->steady_ns(), last * (1 + 1e-12));
      EXPECT_GE(out->steady_ns(),
                free_moves_bound_ns(step, given.capacity[0]) * (1 - 1e-12));
      last = out->steady_ns();
    }
  }
}

// A produced tensor is used once more, much later, while others need the room.
TEST(StaySchedule, ACopyThatFitsBesideOperatorsIsNotWaitedFor) {
  Trace trace;
  trace.info.command = {"gap"};
  trace.info.placement = "all_fast";
  trace.info.machine = two_tiers().to_json();
  constexpr Bytes kSize = 1'000'000;
  constexpr Nanos kEach = 1'000'000;  // a copy out takes 78 us
  trace.tensors.push_back({1, 0x1000000, kSize, 0, -1, ""});
  trace.tensors.push_back({2, 0x2000000, kSize, 0, -1, ""});
  for (int k = 0; k < 8; ++k) {
    const ObjectId used = k == 0 || k == 4 ? 1 : 2;
    const Nanos at = 1000 + k * kEach;
    trace.operators.push_back(
        {"op", "", at, at + kEach, 1, Phase::kForward, {used}, {used}});
  }
  trace.end = {true, 0, 1000 + 8 * kEach, 0};
  trace.sort();
  const Iteration step = step_of(trace);
  const Room given{{2 * kSize - 64, kPlenty}};
  const auto plan = search(step, given, 20);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto out = replay(step, given, *plan, {.steps = 2});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->waited_ns, 0);
  EXPECT_LT(out->steps_ns.back(),
            0.5 * step.all_fast_ns() + 0.5 * step.all_slow_ns());
}

TEST(StaySchedule, ARuleThatAsksForMuchMovesLittle) {
  const Iteration step = step_of(ChainJob().trace());
  std::size_t last = std::numeric_limits<std::size_t>::max();
  for (const double margin : {0.0, 1.0, 1e6}) {
    StaySchedule schedule(step, share_of(step, 0.4),
                          share_of(step, 0.4).capacity[0], {0.5, 0});
    std::vector<StaySchedule::Offer> offers;
    for (std::uint32_t t = 0; t < step.tensors(); ++t) {
      for (std::uint32_t u = 0; u < step.tensor(t).uses.size(); ++u) {
        offers.push_back({t, u, 1});
      }
    }
    schedule.offer(offers, *rule(margin));
    const auto plan = schedule.plan();
    EXPECT_TRUE(check(plan, step, share_of(step, 0.4)));
    EXPECT_LE(plan.moves.size(), last);
    last = plan.moves.size();
  }
  EXPECT_EQ(last, 0u);
}

TEST(Neighbours, CopiesOfNeighboursBecomeOneMove) {
  const Iteration step = step_of(ChainJob().trace());
  // Weights lie side by side in the trace, 64 KiB apart; pages of that size.
  constexpr Bytes kPage = 65536;
  Plan plan;
  plan.birth.assign(step.tensors(), 1);
  std::vector<std::size_t> weights;
  for (std::size_t t = 0; t < step.tensors() && weights.size() < 3; ++t) {
    if (step.tensor(t).label == "parameter") weights.push_back(t);
  }
  ASSERT_EQ(weights.size(), 3u);
  plan.moves = {
      {weights[0], 0, 0, 4}, {weights[1], 0, 1, 5}, {weights[2], 0, 2, 6}};
  for (std::size_t i = 0; i < 3; ++i) {
    plan.moves.push_back({weights[i], 1, 9, 9 + i});
  }
  put_in_order(plan.moves);
  EXPECT_EQ(extents(plan, step, kPage), 6u);
  EXPECT_EQ(join_neighbours(plan, step, 0, kPage), 4u);
  EXPECT_EQ(extents(plan, step, kPage), 2u);
  EXPECT_TRUE(check(plan, step, {{kPlenty, kPlenty}}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.moves[i].start, 2u);   // the latest of the starts
    EXPECT_EQ(plan.moves[i].needed, 4u);  // the earliest need
  }
}

TEST(Neighbours, WithoutTimeInCommonTheyStayApart) {
  const Iteration step = step_of(ChainJob().trace());
  Plan plan;
  plan.birth.assign(step.tensors(), 1);
  std::vector<std::size_t> weights;
  for (std::size_t t = 0; t < step.tensors(); ++t) {
    if (step.tensor(t).label == "parameter") weights.push_back(t);
  }
  plan.moves = {{weights[0], 0, 0, 2}, {weights[1], 0, 3, 6}};
  EXPECT_EQ(join_neighbours(plan, step, 0, 65536), 0u);
  plan.moves = {{weights[0], 0, 0, 5}, {weights[1], 0, 5, 12}};
  EXPECT_EQ(join_neighbours(plan, step, 0.5, 65536), 0u);
  EXPECT_EQ(join_neighbours(plan, step, 0, 65536), 1u);
}

}  // namespace
}  // namespace thermocline
