#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/dqn.h"
#include "policies/replay.h"
#include "tests/contract/policy_contract.h"
#include "tests/policies/planned_step.h"
#include "tests/policies/random_jobs.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

class Learned : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "learned." + std::to_string(getpid()) + ".pt";
  }
  void TearDown() override { unlink(path_.c_str()); }
  void write_agent(std::uint64_t seed) const {
    const TrainingOptions options;
    const Agent agent(options.hidden, Dqn(options, seed).weights(), {});
    ASSERT_TRUE(agent.save(path_).has_value());
  }
  Result<std::unique_ptr<Policy>> make(const Json& more = {}) const {
    Json options = {{"agent", path_}};
    if (!more.is_null()) options.update(more);
    return Registry<Policy>::make("policy", "learned", options);
  }

  std::string path_;
};

// Whatever the network says: these were never trained at all.
TEST_F(Learned, KeepsTheContractOfPolicies) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    if (seed % 20 == 0) write_agent(seed);
    EXPECT_EQ(contract_violation([this] { return *std::move(make()); }, seed),
              "")
        << "seed " << seed;
  }
}

TEST_F(Learned, RefusesWhatItCannotUse) {
  const auto none = Registry<Policy>::make("policy", "learned", Json::object());
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("\"agent\" is missing"),
            std::string::npos);
  const auto missing = make();
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find(path_), std::string::npos);
  write_agent(1);
  EXPECT_FALSE(make({{"no_such_option", 1}}).has_value());
  EXPECT_FALSE(make({{"hysteresis", -1}}).has_value());
  EXPECT_TRUE(make({{"hysteresis", 0}}).has_value());
}

// Pages on a machine whose fast memory has room for two.
struct FewPages {
  explicit FewPages(std::vector<ObjectView> pages) : objects(std::move(pages)) {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      objects[i].id = static_cast<ObjectId>(i);
      objects[i].bytes = 4096;
      tiers[objects[i].tier].used += 4096;
    }
  }
  View view() const {
    View out;
    out.window_ns = 1'000'000;
    for (const ObjectView& one : objects) {  // as much longer as it says
      if (one.tier == 1) out.window_ns += static_cast<Nanos>(220 * one.loads);
    }
    out.budget = 1 << 20;
    out.objects = objects;
    out.tiers = tiers;
    return out;
  }
  void put_out(ObjectId page) {
    objects[page].tier = 1;
    tiers[0].used -= 4096;
    tiers[1].used += 4096;
  }

  std::vector<ObjectView> objects;
  TierView tiers[2] = {{8192, 0, 80, 80, 1e10, 1e10},
                       {1 << 20, 0, 300, 300, 1e9, 1e9}};
};

// Where the kernel fills fast memory to the last page, it is not enough to put
// back what fits into the share that is filled otherwise.
TEST_F(Learned, PutsBackWhatItLostToTheLastPage) {
  write_agent(1);
  auto policy = *std::move(make({{"stake", 0}, {"drift", 0}}));
  FewPages job({{.loads = 10}, {.loads = 10}, {.loads = 10, .tier = 1}});
  EXPECT_TRUE(policy->decide(job.view()).empty());
  job.put_out(0);
  std::vector<Move> moves;
  for (int i = 0; i < 1000 && moves.empty(); ++i) {
    moves = policy->decide(job.view());
  }
  EXPECT_EQ(moves, (std::vector<Move>{{0, 1, 0}}));
}

// It goes on when the job has lasted twice as long, whatever stays where it is.
TEST_F(Learned, WhatCannotBePutBackHoldsNothingUpForEver) {
  write_agent(1);
  auto policy = *std::move(make());
  FewPages job({{.loads = 10'000}, {.loads = 10'000}});
  policy->decide(job.view());
  job.put_out(0);
  job.objects[0].movable = false;
  for (int i = 0; i < 50; ++i) policy->decide(job.view());
  EXPECT_EQ(policy->counts()["account_undid_windows"], 0u);
  EXPECT_EQ(policy->counts()["account_allows_bytes"], 0u);
  job.objects[0].loads = 0;  // and nothing is lost by it any more
  for (int i = 0; i < 300; ++i) policy->decide(job.view());
  EXPECT_GT(policy->counts()["account_allows_bytes"], 0u);
}

TEST_F(Learned, GivesReasons) {
  write_agent(1);
  auto policy = *std::move(make());
  EXPECT_NE(policy->explain(3), "");
  SyntheticTarget target(11);
  while (target.view().objects.empty()) target.step({});
  for (int i = 0; i < 3; ++i) target.step(policy->decide(target.view()));
  int explained = 0;
  for (std::size_t i = 0; i < target.view().objects.size(); ++i) {
    const auto text = policy->explain(static_cast<ObjectId>(i));
    EXPECT_NE(text, "");
    if (text == "it has no memory to place" ||
        text == "the agent has not seen it yet") {
      continue;
    }
    ++explained;
    EXPECT_NE(text.find("advantage"), std::string::npos) << text;
    EXPECT_NE(text.find("rank"), std::string::npos) << text;
    EXPECT_NE(text.find("loads/s"), std::string::npos) << text;
  }
  EXPECT_GT(explained, 0);
}

// A recorded step is planned on that step alone, so any agent does.
TEST_F(Learned, PlansARecordedStepBetterThanFirstTouchAndDeeptm) {
  write_agent(1);
  auto policy = *std::move(make({{"plan_trials", 400}}));
  auto first_touch =
      *Registry<Policy>::make("policy", "first_touch", Json::object());
  auto deeptm = *Registry<Policy>::make("policy", "deeptm", Json::object());
  double against_deeptm = 0;
  double deeptms = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Iteration step = step_of(random_job(seed, 16, 24));
    const Room room = share_of(step, 0.3);
    const auto own = replay(step, room, *policy);
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_TRUE(own->planned);
    EXPECT_LE(own->steady_ns(),
              replay(step, room, *first_touch)->steady_ns() * (1 + 1e-9));
    against_deeptm += own->steady_ns();
    deeptms += replay(step, room, *deeptm)->steady_ns();
  }
  EXPECT_LT(against_deeptm, deeptms);
  auto online = *std::move(make({{"plan_trials", 0}}));
  const Iteration step = step_of(random_job(1, 16, 24));
  const auto plan = online->plan(step, share_of(step, 0.3));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->has_value());
}

// Learning beside it: the contract holds whoever decides, and nothing hangs
// when it goes in the midst of learning.
TEST_F(Learned, KeepsTheContractWhileItLearns) {
  write_agent(1);
  auto policy = *std::move(
      make({{"online", true}, {"share", 1}, {"state", path_ + ".state"}}));
  EXPECT_FALSE(policy->counts().contains("online_verdicts"));
  SyntheticTarget target(11);
  for (int i = 0; i < 10'000; ++i) {  // as many as its thread needs
    const auto moves = policy->decide(target.view());
    ASSERT_EQ(broken_rule(target.view(), moves), "") << "window " << i;
    target.step(moves);
    if (i >= 60 && policy->counts().at("online_verdicts") > 1) break;
    usleep(2000);
  }
  EXPECT_EQ(policy->counts().at("online_saves_failed"), 0U);
  const std::string learned = policy->learned();
  EXPECT_NE(learned, "");
  // Another goes on from there, if it is to learn and of the same agent.
  auto next = *std::move(make({{"online", true}}));
  EXPECT_TRUE(next->recall(learned).has_value());
  EXPECT_EQ(next->learned(), learned);
  next->decide(target.view());
  EXPECT_EQ(next->learned(), learned);
  EXPECT_EQ(next->counts().at("online_states_refused"), 0U);
  EXPECT_FALSE(next->recall(learned.substr(1)).has_value());
  EXPECT_FALSE((*make())->recall(learned).has_value());
  write_agent(2);
  EXPECT_FALSE((*make({{"online", true}}))->recall(learned).has_value());
  policy.reset();
  unlink((path_ + ".state").c_str());
}

}  // namespace
}  // namespace thermocline
