#include "policies/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes kPlenty = 100'000'000;

class Replays : public testing::Test {
 protected:
  Replays() : step_(make({})) {}

  static Iteration make(const ChainJob& job) {
    auto made = Iteration::from_trace(job.trace(), two_tiers());
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  Plan all_in(TierId tier) const {
    return {std::vector<TierId>(step_.tensors(), tier), {}, ""};
  }
  Replayed run(const Plan& plan, Bytes fast = kPlenty,
               ReplayOptions options = {}) const {
    auto out = replay(step_, {{fast, kPlenty}}, plan, options);
    EXPECT_TRUE(out) << out.error().message;
    return out ? *out : Replayed{};
  }
  Replayed run(const std::string& policy, Bytes fast,
               ReplayOptions options = {}) const {
    auto made =
        Registry<Policy>::make("policy", policy, nlohmann::json::object());
    EXPECT_TRUE(made) << made.error().message;
    auto out = replay(step_, {{fast, kPlenty}}, **made, options);
    EXPECT_TRUE(out) << out.error().message;
    return out ? *out : Replayed{};
  }

  Iteration step_;
};

TEST_F(Replays, EndpointsAreThoseOfTheModel) {
  EXPECT_THAT(run(all_in(0)).steps_ns, Each(step_.all_fast_ns()));
  EXPECT_THAT(run(all_in(1), 0).steps_ns, Each(step_.all_slow_ns()));
  EXPECT_EQ(run(all_in(0)).copied, 0u);
  EXPECT_EQ(run(all_in(0)).most_used[0], step_.peak_bytes());
}

// Weight 0 of two layers comes for forward, leaves, comes for backward, leaves.
TEST_F(Replays, AKeptCopyMakesTheWayBackFreeUntilItIsWritten) {
  Plan plan = all_in(1);
  std::size_t weight = step_.tensors();
  for (std::size_t t = 0; t < step_.tensors(); ++t) {
    if (step_.tensor(t).label == "parameter") weight = std::min(weight, t);
  }
  ASSERT_LT(weight, step_.tensors());
  const auto& one = step_.tensor(weight);
  ASSERT_EQ(one.uses.size(), 3u);  // read, read, and written by the optimizer
  ASSERT_TRUE(!one.uses[1].written && one.uses[2].written);
  for (const auto& use : one.uses) {
    plan.moves.push_back({weight, 0, use.op, use.op});
    plan.moves.push_back({weight, 1, use.op + 1u, use.op + 1u});
  }
  const double in = step_.times().copy_ns(weight, 1, 0);
  const double out = step_.times().copy_ns(weight, 0, 1);
  EXPECT_NEAR(run(plan, kPlenty, {.steps = 1}).waited_ns, 3 * in + 3 * out, 1);
  plan.keeps_copies = true;
  const auto kept = run(plan, kPlenty, {.steps = 1});
  EXPECT_NEAR(kept.waited_ns, 3 * in + out, 1);
  EXPECT_EQ(kept.copied, 4 * one.bytes);
  EXPECT_EQ(kept.moves.size(), 6u);
  // Kept room is given back: the slow tier holds no more than all tensors.
  EXPECT_LE(run(plan).most_used[1], step_.peak_bytes());
}

TEST_F(Replays, KeptCopiesNeedRoomForAll) {
  Plan plan = all_in(0);
  plan.keeps_copies = true;
  const auto out = replay(step_, {{kPlenty, step_.peak_bytes() - 1}}, plan);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().message, HasSubstr("keeps copies"));
}

// The replay of a plan for persistent tensors is what overlapped() says.
TEST_F(Replays, APlanTakesTheTimeOfItsOverlappedCopies) {
  Plan plan = all_in(1);
  for (const std::size_t lead : {0u, 1u, 3u}) {
    plan.moves = {{1, 0, 2 - std::min<std::size_t>(lead, 2), 2},
                  {2, 0, 3 - std::min<std::size_t>(lead, 2), 3},
                  {1, 1, 10, 11},
                  {2, 1, 11, 13}};
    const auto expected = overlapped(step_.times(), plan.birth, plan.moves);
    ASSERT_TRUE(expected) << expected.error().message;
    const Replayed out = run(plan);
    EXPECT_THAT(out.steps_ns,
                Each(testing::DoubleNear(expected->job_ns, 1e-6)));
    EXPECT_NEAR(out.waited_ns, 8 * expected->waited_ns, 1e-6);
    EXPECT_EQ(out.copied, 8 * expected->copied);
    EXPECT_EQ(out.moves.size(), 4u * 8);
    EXPECT_THAT(out.unplaced, IsEmpty());
  }
}

TEST_F(Replays, OneThatWrapsStaysWhereItWasLeft) {
  std::uint32_t gradient = 0;
  while (!step_.tensor(gradient).wraps || step_.tensor(gradient).persistent) {
    ++gradient;
  }
  Plan plan = all_in(1);
  plan.moves = {{gradient, 0, step_.tensor(gradient).born + 1, 13}};
  const Replayed out = run(plan, 64'000);
  // zero_grad writes it in fast memory: 4,000 ns less, 2,000 for the copy are
  // hidden. So it is in the first step, too.
  EXPECT_THAT(out.steps_ns,
              Each(testing::DoubleNear(step_.all_slow_ns() - 4'000, 1e-6)));
  EXPECT_EQ(out.most_used[0], 64'000u);
}

TEST_F(Replays, WhatFindsNoHoleGoesSlowerAndIsCounted) {
  // Between two weights that stay, a hole that is too small for an activation:
  // enough bytes, but not in one piece.
  Plan plan = all_in(1);
  plan.birth[0] = plan.birth[1] = plan.birth[2] = 0;
  const auto value = step_.op(2).born[0];
  plan.birth[value] = 0;
  plan.moves = {{1, 1, 1, 1}, {1, 0, 9, 9}};
  const Bytes fast = 3 * 64'000 + 64'000;
  EXPECT_TRUE(check(plan, step_, {{fast, kPlenty}}));
  const Replayed out = run(plan, fast);
  ASSERT_EQ(out.unplaced.size(), 8u);
  EXPECT_EQ(out.unplaced[0], (Unplaced{0, 2, value, 0, true}));
  EXPECT_EQ(out.births[value], 1);
}

TEST_F(Replays, PagesOfTheirOwnTakeMoreRoom) {
  Plan plan = all_in(1);
  plan.birth[0] = plan.birth[1] = plan.birth[2] = 0;
  const Bytes fast = 3 * 64'000;  // 46 pages; a weight needs 16
  EXPECT_THAT(run(plan, fast).unplaced, IsEmpty());
  Room pages{{fast, kPlenty}};
  pages.alignment = 4096;
  const auto out = replay(step_, pages, plan);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_THAT(out->unplaced, testing::ElementsAre(Unplaced{0, 0, 2, 0, true}));
}

TEST_F(Replays, CopiesHaveABudget) {
  Plan plan = all_in(1);
  plan.moves = {{0, 0, 1, 1}, {0, 1, 13, 13}};
  // 64,000 bytes at 1 GB/s, twice.
  const auto out = replay(step_, {{kPlenty, kPlenty}, 1e9}, plan);
  ASSERT_TRUE(out);
  EXPECT_NEAR(out->waited_ns, 8 * 2 * 64'000, 1e-3);
}

TEST_F(Replays, IllegalPlansAreRefused) {
  Plan plan = all_in(0);
  const auto out = replay(step_, {{0, kPlenty}}, plan);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().message, HasSubstr("tier 0 holds"));
  EXPECT_FALSE(replay(step_, {{kPlenty}}, plan));
}

TEST_F(Replays, AJobThatFitsNowhereIsNamed) {
  auto made =
      Registry<Policy>::make("policy", "first_touch", nlohmann::json::object());
  const auto out = replay(step_, {{100'000, 100'000}}, **made);
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().message, HasSubstr("fits into no tier"));
}

TEST_F(Replays, BaselinesKeepTheirPromises) {
  EXPECT_THAT(run("all_slow", kPlenty).steps_ns,
              Each(testing::DoubleNear(step_.all_slow_ns(), 1e-6)));
  EXPECT_THAT(run("first_touch", kPlenty).steps_ns,
              Each(testing::DoubleNear(step_.all_fast_ns(), 1e-6)));
  EXPECT_EQ(run("first_touch", 500'000).copied, 0u);
  EXPECT_THAT(run("first_touch", 500'000).unplaced, IsEmpty());
  const Bytes half = step_.peak_bytes() / 2;
  const double touched = run("first_touch", half).steady_ns();
  EXPECT_GT(touched, step_.all_fast_ns());
  EXPECT_LT(touched, step_.all_slow_ns());
}

// A policy that is asked online sees its copies take effect only when done.
class Promoter final : public Policy {
 public:
  std::vector<Move> decide(const View& view) override {
    views.push_back(view.objects[0]);
    budgets.push_back(view.budget);
    move_ns_per_byte.push_back(view.move_ns_per_byte);
    if (view.objects[0].tier == 1 && view.objects[0].movable &&
        view.objects[0].bytes > 0 && view.window > 0) {
      return {{0, 1, 0}};
    }
    return {};
  }
  double heat(ObjectId) const override { return 0; }
  std::string explain(ObjectId) const override { return "scripted"; }
  TierId birth_tier(std::size_t) const override { return 1; }

  std::vector<ObjectView> views;
  std::vector<Bytes> budgets;
  std::vector<double> move_ns_per_byte;
};

TEST_F(Replays, OnlineMovesTakeEffectWhenDone) {
  Promoter policy;
  double time = 0;
  const auto clock = [&] { return time += 0.5; };
  const auto out = replay(step_, {{kPlenty, kPlenty}, 1e9}, policy,
                          {.steps = 2, .window = 1, .clock = clock});
  ASSERT_TRUE(out) << out.error().message;
  // 64 us at 1 GB/s; an operator takes about 50 us. Asked after the second.
  ASSERT_EQ(out->moves.size(), 1u);
  EXPECT_EQ(out->moves[0].begun, 2u);
  EXPECT_EQ(out->moves[0].in_force, 4u);
  EXPECT_FALSE(policy.views[2].movable);
  EXPECT_EQ(policy.views[2].tier, 1);
  EXPECT_EQ(policy.views[3].tier, 0);
  EXPECT_TRUE(policy.views[3].movable);
  // What a copy took is told once it is done, and once.
  EXPECT_EQ(policy.move_ns_per_byte[2], 0);
  EXPECT_DOUBLE_EQ(policy.move_ns_per_byte[3], 1);
  EXPECT_EQ(policy.move_ns_per_byte[4], 0);
  // Weight 0 is read by the first forward: seen in the second window.
  EXPECT_EQ(policy.views[0].loads, 0);
  EXPECT_EQ(policy.views[1].loads, 1'000);
  EXPECT_EQ(out->decisions_s.size(), 25u);
  EXPECT_THAT(out->decisions_s, Each(0.5));
  EXPECT_GT(policy.budgets[0], 49'000u);
  EXPECT_LT(policy.budgets[0], 80'000u);
}

TEST_F(Replays, CopiesOfTheDeadAreGivenUp) {
  class Chaser final : public Policy {
   public:
    explicit Chaser(std::uint32_t tensor) : tensor_(tensor) {}
    std::vector<Move> decide(const View& view) override {
      const ObjectView& one = view.objects[tensor_];
      if (one.bytes == 0 || !one.movable || one.tier == 0) return {};
      return {{one.id, 1, 0}};
    }
    double heat(ObjectId) const override { return 0; }
    std::string explain(ObjectId) const override { return "scripted"; }
    TierId birth_tier(std::size_t) const override { return 1; }

   private:
    std::uint32_t tensor_;
  };
  Chaser policy(step_.op(1).born[0]);
  // So slow that no copy is ever done.
  const auto out = replay(step_, {{kPlenty, kPlenty}, 1e6}, policy,
                          {.steps = 4, .window = 1});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_THAT(out->moves, IsEmpty());
  EXPECT_EQ(out->copied, 4u * 128'000);
  EXPECT_EQ(out->most_used[0], 128'000u);
}

TEST_F(Replays, ItCanBeStopped) {
  ReplayOptions options;
  options.go_on = [](std::size_t done) { return done < 3; };
  EXPECT_EQ(run(all_in(0), kPlenty, options).steps_ns.size(), 3u);
}

TEST_F(Replays, APolicyWithoutAPlanSaysWhy) {
  class Refuses final : public Policy {
   public:
    std::vector<Move> decide(const View&) override { return {}; }
    double heat(ObjectId) const override { return 0; }
    std::string explain(ObjectId) const override { return "scripted"; }
    Result<std::optional<Plan>> plan(const Iteration&, const Room&) override {
      return unsupported("fast memory is too small");
    }
  };
  Refuses policy;
  const auto out = replay(step_, {{kPlenty, kPlenty}}, policy);
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->planned);
  EXPECT_EQ(out->note, "no plan: fast memory is too small");
}

}  // namespace
}  // namespace thermocline
