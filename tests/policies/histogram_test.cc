// Bins are of samples per 2 MiB: with objects of 2 MiB and one access a sample,
// bin b is of 2^(b-1) to 2^b - 1 accesses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Bytes kHuge = 2 << 20;
constexpr Bytes kBlocks = kHuge / kBlock;  // of one object

std::unique_ptr<Policy> histogram(
    const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json options = {{"sample", 1}, {"fill", 1.0}, {"rate", 1e9}};
  options.update(more);
  auto made = Registry<Policy>::make("policy", "histogram", options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

// Room for so many objects in the fast tier.
HandView room_for(Bytes objects) {
  return HandView({objects * kBlocks, 1000 * kBlocks});
}

TEST(Histogram, TheThresholdFollowsFromCapacity) {
  for (const int room : {1, 2, 3, 5}) {
    const auto policy = histogram();
    HandView hand = room_for(room);
    // Bins 6, 5, 4, 4, 2 and 1.
    for (const double loads : {40, 20, 12, 8, 3, 1}) {
      hand.add(1, loads, 0, kHuge);
    }
    const auto moves = policy->decide(hand.view());
    // The bin of two does not fit a room for three: both of it stay out.
    EXPECT_EQ(moves.size(), room == 3 ? 2u : room) << room;
    const char* from = room == 1 ? "6" : room == 5 ? "2" : "5";
    EXPECT_THAT(policy->explain(0),
                HasSubstr(std::string("hot from bin ") + from))
        << room;
  }
}

TEST(Histogram, HotObjectsGoHottestBinFirst) {
  const auto policy = histogram();
  HandView hand = room_for(9);
  for (const double loads : {3, 40, 12}) hand.add(1, loads, 0, kHuge);
  EXPECT_THAT(policy->decide(hand.view()),
              ElementsAre(Move{1, 1, 0}, Move{2, 1, 0}, Move{0, 1, 0}));
}

TEST(Histogram, LoadsAndStoresCountAlikeAndBySize) {
  const auto policy = histogram();
  HandView hand = room_for(9);
  hand.add(1, 3, 5, kHuge);
  hand.add(1, 1, 0, kHuge / 8);  // as dense as 8 in all of a huge page
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(0), HasSubstr("in bin 4 of"));
  EXPECT_THAT(policy->explain(1), HasSubstr("in bin 4 of"));
}

TEST(Histogram, HotOnesDoNotPutOutOneAnother) {
  const auto policy = histogram();
  HandView hand = room_for(2);
  hand.add(0, 9, 0, kHuge);
  hand.add(0, 9, 0, kHuge);
  hand.add(1, 15, 0, kHuge);  // of the same bin, which does not fit as a whole
  EXPECT_THAT(policy->decide(hand.view()), IsEmpty());
}

TEST(Histogram, WarmOnesStayWhereTheyAre) {
  // Room for eight, one hot: the bin below it is warm.
  const auto policy = histogram();
  HandView hand = room_for(8);
  hand.add(1, 70, 0, kHuge);
  hand.add(0, 40, 0, kHuge);                              // warm, fast
  for (int i = 0; i < 8; ++i) hand.add(1, 40, 0, kHuge);  // warm, slow
  EXPECT_THAT(policy->decide(hand.view()), ElementsAre(Move{0, 1, 0}));
  EXPECT_THAT(policy->explain(1), HasSubstr("; warm"));
  EXPECT_THAT(policy->explain(1), HasSubstr("hot from bin 7, warm from 6"));
}

TEST(Histogram, TheColdMakeRoomBeforeTheWarm) {
  HandView hand = room_for(4);
  hand.add(0, 40, 0, kHuge);  // warm
  hand.add(0, 1, 0, kHuge);   // cold
  hand.add(0, 40, 0, kHuge);  // warm
  hand.add(0, 40, 0, kHuge);  // warm
  for (int i = 0; i < 2; ++i) hand.add(1, 70, 0, kHuge);
  for (int i = 0; i < 3; ++i) hand.add(1, 40, 0, kHuge);
  const auto policy = histogram();
  const auto moves = policy->decide(hand.view());
  // Two hot ones fill half: 40 is warm. The cold one goes, then one warm.
  ASSERT_EQ(moves.size(), 4u);
  EXPECT_EQ(moves[0], (Move{1, 0, 1}));
  EXPECT_EQ(moves[1].from, 0);
  EXPECT_THAT((std::vector<Move>{moves[2], moves[3]}),
              ElementsAre(Move{4, 1, 0}, Move{5, 1, 0}));
}

TEST(Histogram, WithoutWarmthNothingElseIsKept) {
  const auto policy = histogram({{"warm", false}});
  HandView hand = room_for(8);
  hand.add(1, 70, 0, kHuge);
  for (int i = 0; i < 9; ++i) hand.add(1, 40, 0, kHuge);
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(1), HasSubstr("; cold"));
  EXPECT_THAT(policy->explain(1), Not(HasSubstr("warm from")));
}

TEST(Histogram, CoolsAfterSoManySamples) {
  const auto policy = histogram({{"cooling", 100}});
  HandView hand = room_for(8);
  hand.add(0, 60, 0, kHuge);
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(0), HasSubstr("in bin 6 of"));  // 60
  hand.objects[0].loads = 39;
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(0), HasSubstr("in bin 7 of"));  // 99
  hand.objects[0].loads = 1;
  policy->decide(hand.view());
  EXPECT_THAT(policy->explain(0), HasSubstr("in bin 6 of"));  // 100, halved
}

TEST(Histogram, AFormerHotSetIsLeftAfterAFewCoolings) {
  const auto policy = histogram({{"cooling", 400}});
  HandView hand = room_for(4);
  for (int i = 0; i < 4; ++i) hand.add(0, 100, 0, kHuge);
  for (int i = 0; i < 4; ++i) hand.add(1, 0, 0, kHuge);
  for (int w = 0; w < 10; ++w) hand.apply(policy->decide(hand.view()));
  for (int i = 0; i < 8; ++i) hand.objects[i].loads = i < 4 ? 0 : 100;
  int windows = 0;
  for (; windows < 20 && hand.objects[7].tier != 0; ++windows) {
    hand.apply(policy->decide(hand.view()));
  }
  EXPECT_LE(windows, 4);
}

TEST(Histogram, MovesAtTheRateOfItsAuthorsAtMost) {
  // 2048 MiB/s for 10 ms: 10 objects of 2 MiB.
  const auto policy = histogram({{"rate", 2048}});
  HandView hand = room_for(50);
  for (int i = 0; i < 30; ++i) hand.add(1, 40, 0, kHuge);
  EXPECT_EQ(policy->decide(hand.view()).size(), 10u);
  hand.budget = 4 * kHuge;  // that of the daemon is less
  EXPECT_EQ(policy->decide(hand.view()).size(), 4u);
}

}  // namespace
}  // namespace thermocline
