// first_touch, all_fast, all_slow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Policy> make(const std::string& name) {
  auto made = Registry<Policy>::make("policy", name, nlohmann::json::object());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(FirstTouch, MovesNothingAndLeavesNewPagesToTheKernel) {
  const auto policy = make("first_touch");
  HandView hand({1, 100});
  hand.add(1, 1000);
  hand.add(0);
  EXPECT_THAT(policy->decide(hand.view()), IsEmpty());
  EXPECT_EQ(policy->birth_tier(2), kNoTier);
  EXPECT_THAT(policy->explain(0), HasSubstr("1000 loads"));
  EXPECT_THAT(policy->explain(0), HasSubstr("first touched"));
}

TEST(AllFast, FillsTheFastestTierAndSwapsNothing) {
  const auto policy = make("all_fast");
  HandView hand({2, 100});
  hand.add(1, 5);
  hand.add(0);
  hand.add(1, 900);
  EXPECT_THAT(policy->decide(hand.view()), ElementsAre(Move{0, 1, 0}));
  EXPECT_EQ(policy->birth_tier(2), 0);
}

TEST(AllSlow, EmptiesTheFasterTiersWithinTheBudget) {
  const auto policy = make("all_slow");
  HandView hand({4, 4, 100});
  hand.add(0, 9);
  hand.add(1);
  hand.add(2);
  hand.add(0, 0, 0, kBlock, false);
  EXPECT_THAT(policy->decide(hand.view()),
              ElementsAre(Move{0, 0, 2}, Move{1, 1, 2}));
  hand.budget = kBlock;
  EXPECT_EQ(policy->decide(hand.view()).size(), 1u);
  EXPECT_EQ(policy->birth_tier(3), 2);
}

TEST(Heat, IsTheTimeAnObjectLosesInTheSlowestTier) {
  // One load loses 1 ns and one store 4 ns between these tiers.
  const auto policy = make("first_touch");
  HandView hand({4, 100});
  hand.add(1, 100, 10);
  for (int i = 0; i < 40; ++i) policy->decide(hand.view());
  EXPECT_NEAR(policy->heat(0), 100 + 40, 1e-6);
  EXPECT_EQ(policy->heat(1), 0);  // never seen
  hand.objects[0].loads = hand.objects[0].stores = 0;
  for (int i = 0; i < 40; ++i) policy->decide(hand.view());
  EXPECT_LT(policy->heat(0), 1e-9);  // cooled
}

TEST(Heat, ExplanationsRankByIt) {
  const auto policy = make("first_touch");
  HandView hand({4, 100});
  hand.add(1, 100);
  hand.add(1, 0, 95);
  hand.add(0, 812, 95);
  hand.add(1, 0, 0, 0);
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(2),
              HasSubstr("in tier 0 of 2 (fastest): 812 loads and 95 stores in "
                        "the last window, rank 1 of 3 by heat"));
  EXPECT_THAT(policy->explain(1), HasSubstr("rank 2 of 3"));
  EXPECT_THAT(policy->explain(0), HasSubstr("(slowest)"));
  EXPECT_THAT(policy->explain(3), HasSubstr("no resident bytes"));
  EXPECT_THAT(policy->explain(77), HasSubstr("not seen"));
}

}  // namespace
}  // namespace thermocline
