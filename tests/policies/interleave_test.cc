#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Policy> interleave(const std::string& weights = "") {
  auto made =
      Registry<Policy>::make("policy", "interleave", {{"weights", weights}});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

// How many of objects `from` to `to` lie in each tier, once all is moved.
std::array<int, 3> spread(Policy& policy, HandView& hand, std::size_t from,
                          std::size_t to) {
  for (int w = 0; w < 20; ++w) hand.apply(policy.decide(hand.view()));
  EXPECT_THAT(policy.decide(hand.view()), IsEmpty());
  std::array<int, 3> out{};
  for (std::size_t i = from; i < to; ++i) ++out.at(hand.objects[i].tier);
  return out;
}

TEST(Interleave, SharesAreThoseOfTheReadBandwidth) {
  // 64 and 32 GB/s: two thirds and one third, in every run of objects.
  const auto policy = interleave();
  HandView hand({1000, 1000});
  for (int i = 0; i < 300; ++i) hand.add(static_cast<TierId>(i % 2));
  EXPECT_NEAR(spread(*policy, hand, 0, 300)[0], 200, 2);
  EXPECT_NEAR(spread(*policy, hand, 30, 60)[0], 20, 2);
  EXPECT_THAT(policy->explain(0),
              HasSubstr("belongs to tier 0 (shares 67 % 33 %)"));
}

TEST(Interleave, OrOfTheWeights) {
  const auto policy = interleave("1,1,2");
  HandView hand({1000, 1000, 1000});
  for (int i = 0; i < 400; ++i) hand.add(0, i);  // heat does not matter
  const auto got = spread(*policy, hand, 0, 400);
  EXPECT_NEAR(got[0], 100, 2);
  EXPECT_NEAR(got[1], 100, 2);
  EXPECT_NEAR(got[2], 200, 2);
}

TEST(Interleave, WhatATierCannotHoldIsSharedByTheOthers) {
  const auto policy = interleave("8:1:1");
  HandView hand({100, 1000, 1000});
  for (int i = 0; i < 300; ++i) hand.add(2);
  const auto got = spread(*policy, hand, 0, 300);
  EXPECT_NEAR(got[0], 100, 2);
  EXPECT_LE(got[0], 100);
  EXPECT_NEAR(got[1], 100, 2);
}

TEST(Interleave, UnknownBandwidthsAreAllAlike) {
  const auto policy = interleave();
  HandView hand({1000, 1000});
  hand.tiers[1].read_bytes_per_s = 0;
  for (int i = 0; i < 200; ++i) hand.add(1);
  EXPECT_NEAR(spread(*policy, hand, 0, 200)[0], 100, 2);
}

TEST(Interleave, MovesNoMoreThanTheBudgetAndBothWays) {
  const auto policy = interleave("1,1");
  HandView hand({1000, 1000});
  for (int i = 0; i < 100; ++i) hand.add(static_cast<TierId>(i % 2));
  hand.budget = 10 * kBlock;
  const auto moves = policy->decide(hand.view());
  ASSERT_EQ(moves.size(), 10u);
  EXPECT_EQ(moves.front().to, 1);
  EXPECT_EQ(moves.back().to, 0);
}

TEST(Interleave, NewObjectsHardlyMoveOldOnes) {
  const auto policy = interleave("1,1");
  HandView hand({1000, 1000});
  for (int i = 0; i < 100; ++i) hand.add(1);
  spread(*policy, hand, 0, 100);
  const auto before = hand.objects;
  for (int i = 0; i < 50; ++i) hand.add(1);
  for (const Move& move : policy->decide(hand.view())) {
    EXPECT_GE(move.object, before.size());
  }
}

TEST(Interleave, RefusesWeightsThatAreNone) {
  for (const char* bad :
       {"x", "1,", ",1", "1 2", "-1,2", "0,0", "nan", "1e999"}) {
    const auto made =
        Registry<Policy>::make("policy", "interleave", {{"weights", bad}});
    ASSERT_FALSE(made) << bad;
    EXPECT_THAT(made.error().message, HasSubstr("weights")) << bad;
  }
}

}  // namespace
}  // namespace thermocline
