// What is learned on the step itself, beyond any weights of characteristics.
#include "policies/stay_evolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/replay.h"
#include "policies/stay_search.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/random_jobs.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

constexpr Bytes kUnit = 64'000;

// Four persistent tensors: 6 units read by twelve operators, twice 5 units read
// by ten, and 1 unit read by all. In ten units of fast memory the two of 5 are
// best, but each of them is colder than the first, by all it loses as by what
// it loses for its size, and larger than the last.
Trace knapsack() {
  Trace out;
  out.info.command = {"knapsack"};
  out.info.placement = "all_fast";
  out.info.machine = two_tiers().to_json();
  const Bytes units[] = {6, 5, 5, 1};
  const int reads[] = {12, 10, 10, 12};
  for (ObjectId i = 0; i < 4; ++i) {
    out.tensors.push_back(
        {i + 1, 0x1000000 * (i + 1), units[i] * kUnit, 0, -1, ""});
  }
  Nanos now = 1000;
  for (int k = 0; k < 12; ++k) {
    std::vector<ObjectId> read;
    for (ObjectId i = 0; i < 4; ++i) {
      if (k < reads[i]) read.push_back(i + 1);
    }
    out.operators.push_back({"op " + std::to_string(k),
                             "",
                             now,
                             now + 50'000,
                             1,
                             Phase::kForward,
                             read,
                             {}});
    now += 50'000;
  }
  out.end = {true, 0, now, 0};
  out.sort();
  return out;
}

Result<Plan> search(const Iteration& step, const Room& room, std::size_t trials,
                    std::size_t evolved) {
  const auto decider =
      *Registry<Decider>::make("decider", "rule", nlohmann::json::object());
  StaySearch::Options options;
  options.trials = trials;
  options.evolved = evolved;
  options.tell_after = 0;
  return StaySearch(step, room, *decider, options).run();
}

double steady(const Iteration& step, const Room& room, const Plan& plan) {
  const auto out = replay(step, room, plan);
  EXPECT_TRUE(out) << out.error().message;
  return out ? out->steady_ns() : 0;
}

TEST(StayEvolution, FindsWhatNoWeightsSay) {
  const Iteration step = step_of(knapsack());
  const Room room{{10 * kUnit, kPlenty}};
  const double best = steady(step, room, {{1, 0, 0, 1}, {}, "", false});
  const auto weighed = search(step, room, 160, 0);
  ASSERT_TRUE(weighed) << weighed.error().message;
  EXPECT_GT(steady(step, room, *weighed), best * 1.01);  // it is a trap
  const auto learned = search(step, room, 160, 300);
  ASSERT_TRUE(learned) << learned.error().message;
  EXPECT_LE(steady(step, room, *learned), best * (1 + 1e-9));
  EXPECT_THAT(learned->note, testing::HasSubstr("of 4 tensors by their own;"));
}

TEST(StayEvolution, IsNeverWorseThanWhatItBeginsWith) {
  double before = 0;
  double after = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Iteration step = step_of(random_job(seed, 16, 24));
    for (const double share : {0.1, 0.3, 0.6}) {
      const Room room = share_of(step, share);
      const auto weighed = search(step, room, 20, 0);
      const auto learned = search(step, room, 20, 200);
      ASSERT_TRUE(weighed && learned);
      ASSERT_TRUE(check(*learned, step, room));
      const double first = steady(step, room, *weighed);
      const double then = steady(step, room, *learned);
      EXPECT_LE(then, first * (1 + 1e-9)) << seed << ' ' << share;
      before += first;
      after += then;
    }
  }
  EXPECT_LT(after, before * 0.99);  // and better by far on some
}

TEST(StayEvolution, TheSameTwice) {
  const Iteration step = step_of(ChainJob().trace());
  const Room room = share_of(step, 0.3);
  const auto one = search(step, room, 20, 300);
  const auto two = search(step, room, 20, 300);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->birth, two->birth);
  EXPECT_EQ(one->moves.size(), two->moves.size());
  EXPECT_EQ(one->note, two->note);
}

TEST(StayEvolution, AskedToStopItComesBackWithTheBestSoFar) {
  const Iteration step = step_of(random_job(3, 30, 60));
  Room room = share_of(step, 0.3);
  int asked = 0;
  room.go_on = [&] { return ++asked <= 15; };
  const auto cut = search(step, room, 10, 1'000'000);
  ASSERT_TRUE(cut) << cut.error().message;
  EXPECT_TRUE(check(*cut, step, room));
  EXPECT_THAT(cut->note, testing::HasSubstr("; 15 trials"));
}

TEST(StayEvolution, WhatIsFoundOnTheWayIsToldAndGetsBetter) {
  const Iteration step = step_of(random_job(3, 30, 60));
  Room room = share_of(step, 0.3);
  std::vector<double> told;
  room.so_far = [&](const Plan& plan) {
    EXPECT_TRUE(check(plan, step, room));
    told.push_back(steady(step, room, plan));
  };
  const auto last = search(step, room, 160, 1000);
  ASSERT_TRUE(last) << last.error().message;
  ASSERT_GE(told.size(), 2u);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_LT(told[i], told[i - 1]);
  }
  EXPECT_LE(steady(step, room, *last), told.back() * (1 + 1e-9));
}

TEST(StayTrial, WhatIsNeverOfferedStaysSlow) {
  const Iteration step = step_of(knapsack());
  const Room room{{10 * kUnit, kPlenty}};
  const auto decider =
      *Registry<Decider>::make("decider", "rule", nlohmann::json::object());
  const StayTrial trial(step, room, *decider, {});
  StayTrial::Setting setting{
      {1, 1, 0, 0, 0}, Accesses::kByUse, 0.5, 1, false, {}};
  const auto all = trial.attempt(setting);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->plan.birth, (std::vector<TierId>{0, 1, 1, 0}));
  setting.own = {StayTrial::kNever - 0.1, 0, 0, 0};
  const auto without = trial.attempt(setting);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->plan.birth, (std::vector<TierId>{1, 0, 0, 1}));
}

}  // namespace
}  // namespace thermocline
