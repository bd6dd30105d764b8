#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Policy> hottest_first(nlohmann::json options) {
  auto made = Registry<Policy>::make("policy", "hottest_first", options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

TEST(HottestFirst, PromotesFromTheThresholdOn) {
  const auto policy = hottest_first({{"period", 1}, {"fill", 1.0}});
  HandView hand({4, 100});
  hand.add(1, 3);     // cold: below 4 loads
  hand.add(1, 4);     // hot
  hand.add(1, 0, 3);  // cold: below 4 stores
  hand.add(1, 0, 4);  // hot, and stores lose more
  EXPECT_THAT(policy->decide(hand.view()),
              ElementsAre(Move{3, 1, 0}, Move{1, 1, 0}));
  EXPECT_THAT(policy->explain(1),
              HasSubstr("; hot, threshold 4 loads or 4 stores"));
  EXPECT_THAT(policy->explain(0), HasSubstr("; cold, threshold"));
}

TEST(HottestFirst, ThresholdsAreInSamples) {
  // A sample stands for 1000 accesses: 3000 loads are 3 samples, cold.
  const auto policy = hottest_first({{"fill", 1.0}});
  HandView hand({4, 100});
  hand.add(1, 3000);
  hand.add(1, 1000);  // the smallest count tells the period
  hand.add(1, 5000);
  EXPECT_THAT(policy->decide(hand.view()), ElementsAre(Move{2, 1, 0}));
}

TEST(HottestFirst, ColdObjectsMakeRoomForHotOnes) {
  const auto policy = hottest_first({{"period", 1}, {"fill", 1.0}});
  HandView hand({2, 100});
  hand.add(0, 1);
  hand.add(0, 8);
  hand.add(1, 9);
  EXPECT_THAT(policy->decide(hand.view()),
              ElementsAre(Move{0, 0, 1}, Move{2, 1, 0}));
}

TEST(HottestFirst, AHotObjectYieldsOnlyToOneMuchHotter) {
  HandView hand({1, 100});
  hand.add(0, 4.5);  // both are hot, and none is hot enough to cool
  hand.add(1, 8.5);
  const nlohmann::json options = {{"period", 1}, {"fill", 1.0}};
  EXPECT_THAT(hottest_first(options)->decide(hand.view()), IsEmpty());
  hand.objects[1].loads = 9.5;
  EXPECT_EQ(hottest_first(options)->decide(hand.view()).size(), 2u);
  auto as_hemem = options;
  as_hemem["swap_margin"] = 1000;
  EXPECT_THAT(hottest_first(as_hemem)->decide(hand.view()), IsEmpty());
}

TEST(HottestFirst, CountsGatherOverWindowsAndCool) {
  const auto policy = hottest_first({{"period", 1}, {"fill", 1.0}});
  HandView hand({1, 100});
  hand.add(1, 2);
  EXPECT_THAT(policy->decide(hand.view()), IsEmpty());
  EXPECT_THAT(policy->decide(hand.view()), ElementsAre(Move{0, 1, 0}));
  hand.objects[0].tier = 0;
  hand.objects[0].loads = 0;
  hand.add(1, 40);  // cools everybody: 4 -> 2, cold now
  EXPECT_THAT(policy->decide(hand.view()),
              ElementsAre(Move{0, 0, 1}, Move{1, 1, 0}));
}

TEST(HottestFirst, RefusesOptionsOutOfRange) {
  const auto made =
      Registry<Policy>::make("policy", "hottest_first", {{"fill", 1.5}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("1.5 is outside [0.0, 1.0]"));
}

}  // namespace
}  // namespace thermocline
