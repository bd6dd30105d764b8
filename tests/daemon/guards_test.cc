#include "daemon/guards.h"

#include <gtest/gtest.h>

#include <set>

namespace thermocline {
namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

class GuardsTest : public ::testing::Test {
 protected:
  // Four objects of 1 MiB: 0 and 1 fast, 2 and 3 slow.
  void SetUp() override {
    for (ObjectId id = 0; id < 4; ++id) {
      const TierId tier = id < 2 ? 0 : 1;
      objects.push_back({id, kNoObject, kMiB, 1, 0, tier});
    }
    tiers = {{2 * kMiB, 2 * kMiB, 0, 0, 0, 0},
             {64 * kMiB, 2 * kMiB, 0, 0, 0, 0}};
  }
  std::vector<Move> admit(const std::vector<Move>& moves,
                          std::int64_t window = 0) {
    const View view{window, 1, budget, objects, tiers};
    return guards.admit(view, moves, [&](ObjectId id, TierId to) {
      return objects[id].tier == to ? 0 : objects[id].bytes;
    });
  }
  std::uint64_t refused(Refusal why) const {
    return guards.refused()[static_cast<std::size_t>(why)];
  }

  Guards guards{Guards::Options{}};
  std::vector<ObjectView> objects;
  std::vector<TierView> tiers;
  Bytes budget = 100 * kMiB;
};

TEST_F(GuardsTest, DemotionsMakeRoomForPromotions) {
  const auto out = admit({{2, 1, 0}, {0, 0, 1}});
  EXPECT_EQ(out, (std::vector<Move>{{0, 0, 1}, {2, 1, 0}}));
}

TEST_F(GuardsTest, NoTierIsOverfilled) {
  EXPECT_TRUE(admit({{2, 1, 0}}).empty());
  EXPECT_EQ(refused(Refusal::kCapacity), 1u);
  EXPECT_NE(guards.last_refusal(2).find("capacity"), std::string::npos);
  EXPECT_EQ(guards.last_refusal(0), "");
  tiers[1].capacity = 2 * kMiB;  // the slowest is no exception
  EXPECT_TRUE(admit({{0, 0, 1}}).empty());
  EXPECT_EQ(refused(Refusal::kCapacity), 2u);
}

TEST_F(GuardsTest, BudgetHolds) {
  budget = kMiB + 1;
  const auto out = admit({{0, 0, 1}, {1, 0, 1}});
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(refused(Refusal::kBudget), 1u);
}

TEST_F(GuardsTest, NonsenseIsRefused) {
  objects[1].movable = false;
  objects[3].bytes = 0;
  const auto out =
      admit({{9, 1, 0}, {2, 1, 1}, {2, 1, 7}, {0, 1, 0}, {1, 0, 1}, {3, 1, 0}});
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(refused(Refusal::kInvalid), 3u);
  EXPECT_EQ(refused(Refusal::kStale), 1u);
  EXPECT_EQ(refused(Refusal::kUnmovable), 2u);
  EXPECT_EQ(admit({{0, 0, 1}, {0, 0, 1}}).size(), 1u);
  EXPECT_EQ(refused(Refusal::kInvalid), 4u);
}

TEST_F(GuardsTest, StaysForItsResidence) {
  guards.moved({0, 1, 0}, 10);  // came to fast from slow
  EXPECT_TRUE(admit({{0, 0, 1}}, 11).empty());
  EXPECT_EQ(refused(Refusal::kResidence), 1u);
  EXPECT_EQ(admit({{0, 0, 1}}, 12).size(), 1u);
}

TEST_F(GuardsTest, BouncingWaitsLongerEachTime) {
  guards.moved({0, 1, 0}, 0);
  guards.moved({0, 0, 1}, 2);
  guards.moved({0, 1, 0}, 6);  // twice back by now: wait 2 << 2
  for (const int window : {8, 13}) {
    EXPECT_TRUE(admit({{0, 0, 1}}, window).empty()) << window;
  }
  EXPECT_EQ(refused(Refusal::kPingPong), 2u);
  EXPECT_EQ(admit({{0, 0, 1}}, 14).size(), 1u);
  // Long after, the slate is clean.
  guards.moved({0, 0, 1}, 1000);
  objects[0].tier = 1;
  tiers[0].used = kMiB;
  EXPECT_EQ(admit({{0, 1, 0}}, 1002).size(), 1u);
}

TEST_F(GuardsTest, ResidenceAndPingPongAreSwitchedApart) {
  const auto refusals = [&](bool residence, bool ping_pong) {
    Guards::Options options;
    options.residence_holds = residence;
    options.ping_pong_holds = ping_pong;
    guards.set(options);
    const auto soon = admit({{0, 0, 1}}, 7).empty();  // 1 window after
    const auto late = admit({{0, 0, 1}}, 12).empty();
    return std::pair(soon, late);
  };
  guards.moved({0, 1, 0}, 0);
  guards.moved({0, 0, 1}, 2);
  guards.moved({0, 1, 0}, 6);  // as above: waits 8 windows
  EXPECT_EQ(refusals(true, true), std::pair(true, true));
  EXPECT_EQ(refusals(false, true), std::pair(true, true));
  EXPECT_EQ(refusals(true, false), std::pair(true, false));
  EXPECT_EQ(refusals(false, false), std::pair(false, false));
  EXPECT_EQ(refusals(true, true), std::pair(true, true)) << "nothing forgotten";
}

// What a job uses phase by phase may come and go with them, if that pays.
TEST_F(GuardsTest, AStayThatPaidIsNoBounce) {
  for (int round = 0; round < 4; ++round) {
    guards.moved({0, 1, 0}, 8 * round);
    guards.moved({0, 0, 1}, 8 * round + 4, /*paid=*/true);
  }
  objects[0].tier = 1;
  tiers[0].used = kMiB;
  EXPECT_TRUE(admit({{0, 1, 0}}, 29).empty());
  EXPECT_EQ(refused(Refusal::kResidence), 1u);  // the least, as ever
  EXPECT_EQ(admit({{0, 1, 0}}, 30).size(), 1u);
  // One stay for nothing, and it waits.
  guards.moved({0, 1, 0}, 32);
  guards.moved({0, 0, 1}, 36, /*paid=*/false);
  EXPECT_TRUE(admit({{0, 1, 0}}, 38).empty());
  EXPECT_EQ(refused(Refusal::kPingPong), 1u);
}

TEST_F(GuardsTest, AStayPaysByItsAccesses) {
  tiers[0] = {4 * kMiB, 2 * kMiB, 80, 80, 64e9, 64e9};
  tiers[1] = {4 * kMiB, 2 * kMiB, 280, 280, 2e9, 1e9};
  auto& payback = guards.payback();
  const auto paid = [&] { return payback.stay_paid({0, 0, 1}, kMiB, tiers); };
  payback.end_window(objects, 1'000'000'000, 1);
  guards.moved({0, 1, 0}, 0);
  // By the tiers' bandwidths a MiB there and back costs 1.57 ms: 7,864 loads.
  objects[0].loads = 4'000;
  payback.end_window(objects, 1'000'000'000, 1);
  EXPECT_FALSE(paid());
  payback.end_window(objects, 1'000'000'000, 1);
  EXPECT_TRUE(paid());
  payback.landed(kMiB, 4 * kMiB);  // 8 ns a byte, there and back: 8.4 ms
  EXPECT_FALSE(paid());
  for (int i = 0; i < 9; ++i) payback.end_window(objects, 1'000'000'000, 1);
  EXPECT_TRUE(paid());
  guards.moved({0, 1, 0}, 20);  // the next stay begins with nothing
  EXPECT_FALSE(paid());
  EXPECT_FALSE(payback.stay_paid({9, 0, 1}, kMiB, tiers));  // not known
}

TEST_F(GuardsTest, FailuresAreLeftAloneForAWhile) {
  EXPECT_FALSE(guards.resting(2, 0));
  guards.failed(2, 0);
  EXPECT_TRUE(guards.resting(2, 3));
  EXPECT_FALSE(guards.resting(2, 4));
  guards.failed(2, 4);
  EXPECT_TRUE(guards.resting(2, 11));
  EXPECT_FALSE(guards.resting(2, 12));
  for (int i = 0; i < 100; ++i) guards.failed(2, 0);
  EXPECT_FALSE(guards.resting(2, 4 << 6));
}

TEST_F(GuardsTest, ABrakeHoldsAllButWhatIsOwed) {
  const View view{0, 1, budget, objects, tiers};
  const auto bytes = [](ObjectId, TierId) { return kMiB; };
  const std::vector<Move> moves{{0, 0, 1}, {2, 1, 0}};
  EXPECT_TRUE(guards.admit(view, moves, bytes, Refusal::kSlowdown).empty());
  EXPECT_EQ(refused(Refusal::kSlowdown), 2u);
  tiers[0].capacity = kMiB;  // it has 2 MiB there
  EXPECT_EQ(guards.admit(view, moves, bytes, Refusal::kThrashing),
            (std::vector<Move>{{0, 0, 1}}));
  // While a batch is on its way nothing is sent, owed or not.
  EXPECT_TRUE(guards.admit(view, moves, bytes, Refusal::kInFlight).empty());
}

TEST_F(GuardsTest, APromotionMustEarnItsCopyBack) {
  tiers[0] = {4 * kMiB, 2 * kMiB, 80, 80, 0, 0};
  tiers[1].read_ns = 280;
  tiers[1].write_ns = 280;
  objects[2].loads = 1;
  objects[3].loads = 10'000;
  guards.payback().end_window(objects, 1'000'000'000, 1);
  EXPECT_EQ(admit({{2, 1, 0}}).size(), 1u);  // no cost is known yet
  guards.payback().landed(kMiB, 4 * kMiB);   // 4 ns a byte
  EXPECT_EQ(admit({{2, 1, 0}, {3, 1, 0}}), (std::vector<Move>{{3, 1, 0}}));
  EXPECT_EQ(refused(Refusal::kNoPayback), 1u);
}

TEST_F(GuardsTest, NoRoomIsMadeForWhatMayNotCome) {
  // Objects 2 and 3 went out a window ago: they may not come back yet.
  guards.moved({2, 0, 1}, 0);
  guards.moved({3, 0, 1}, 0);
  EXPECT_TRUE(admit({{0, 0, 1}, {1, 0, 1}, {2, 1, 0}, {3, 1, 0}}, 1).empty());
  EXPECT_EQ(refused(Refusal::kResidence), 2u);
  EXPECT_EQ(refused(Refusal::kNeedless), 2u);
  EXPECT_NE(guards.last_refusal(0).find("needless"), std::string::npos);
}

TEST_F(GuardsTest, RoomIsMadeForWhatMayCome) {
  guards.moved({3, 0, 1}, 0);
  const auto out = admit({{1, 0, 1}, {0, 0, 1}, {3, 1, 0}, {2, 1, 0}}, 1);
  EXPECT_EQ(out, (std::vector<Move>{{1, 0, 1}, {2, 1, 0}}));
  EXPECT_EQ(refused(Refusal::kNeedless), 1u);
}

TEST_F(GuardsTest, WhoMakesRoomAheadMay) {
  const auto out = admit({{0, 0, 1}, {1, 0, 1}});
  EXPECT_EQ(out.size(), 2u);
  // Room beyond that of a swap that may not be is its own matter.
  guards.moved({2, 0, 1}, 0);
  EXPECT_EQ(admit({{0, 0, 1}, {1, 0, 1}, {2, 1, 0}}, 1).size(), 1u);
}

TEST_F(GuardsTest, WhatIsOwedIsNeverNeedless) {
  tiers[0].capacity = kMiB;
  guards.moved({2, 0, 1}, 0);
  const auto out = admit({{0, 0, 1}, {1, 0, 1}, {2, 1, 0}}, 1);
  EXPECT_EQ(out, (std::vector<Move>{{0, 0, 1}}));
}

TEST_F(GuardsTest, SwapsMayBeLeftHalf) {
  Guards::Options options;
  options.needless = false;
  guards = Guards(options);
  guards.moved({2, 0, 1}, 0);
  EXPECT_EQ(admit({{0, 0, 1}, {2, 1, 0}}, 1).size(), 1u);
}

TEST_F(GuardsTest, EveryRefusalHasAName) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kRefusals; ++i) {
    names.insert(refusal_name(static_cast<Refusal>(i)));
  }
  EXPECT_EQ(names.size(), kRefusals);
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace thermocline
