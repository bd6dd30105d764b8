#include "policies/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Scores = std::vector<double>;

std::vector<Move> pack_it(HandView& hand, const Scores& score,
                          double hysteresis = 0, double fill = 1) {
  return pack(hand.view(), score, {hysteresis, fill});
}

TEST(Packing, FillsTheFastestTierByScore) {
  HandView hand({2, 100});
  for (int i = 0; i < 4; ++i) hand.add(1);
  EXPECT_THAT(pack_it(hand, {1, 4, 2, 3}),
              ElementsAre(Move{1, 1, 0}, Move{3, 1, 0}));
}

TEST(Packing, ScoresOfZeroBelowOrNaNAreNotPromoted) {
  HandView hand({4, 100});
  for (int i = 0; i < 4; ++i) hand.add(1);
  EXPECT_THAT(pack_it(hand, {0, -1, std::nan(""), 0}), IsEmpty());
  EXPECT_THAT(pack_it(hand, {0}), IsEmpty());  // missing scores are 0
}

TEST(Packing, WhatIsFastStaysUnlessTheMarginIsPassed) {
  HandView hand({1, 100});
  hand.add(0);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {10, 12}, 0.2), IsEmpty());
  EXPECT_THAT(pack_it(hand, {10, 12.1}, 0.2),
              ElementsAre(Move{0, 0, 1}, Move{1, 1, 0}));
  EXPECT_THAT(pack_it(hand, {10, 10}, 0), IsEmpty());
}

TEST(Packing, ColdObjectsStayWhereThereIsRoom) {
  HandView hand({3, 100});
  hand.add(0);
  hand.add(0);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {0, 0, 5}), ElementsAre(Move{2, 1, 0}));
}

TEST(Packing, DemotesTheColdestAndOnlyAsManyAsNeeded) {
  HandView hand({3, 100});
  hand.add(0);
  hand.add(0);
  hand.add(0);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {3, 1, 2, 9}),
              ElementsAre(Move{1, 0, 1}, Move{3, 1, 0}));
}

TEST(Packing, BothHalvesOfASwapMustFitTheBudget) {
  HandView hand({1, 100});
  hand.add(0);
  hand.add(1);
  hand.budget = 2 * kBlock - 1;
  EXPECT_THAT(pack_it(hand, {0, 9}), IsEmpty());
  hand.budget = 2 * kBlock;
  EXPECT_EQ(pack_it(hand, {0, 9}).size(), 2u);
}

// A huge page of middling warmth, and small objects that want its place.
struct HugeInFast {
  explicit HugeInFast(std::size_t small) {
    hand.add(0, 0, 0, 8 * kBlock);
    for (std::size_t i = 0; i < small; ++i) hand.add(1);
  }
  HandView hand{{8, 100}};
};

TEST(Packing, SeveralTogetherPutOutALargeOne) {
  HugeInFast of(8);
  const auto moves = pack_it(of.hand, {1, 3, 3, 3, 3, 3, 3, 3, 3}, 0.5);
  ASSERT_EQ(moves.size(), 9u);
  EXPECT_EQ(moves.front(), (Move{0, 0, 1}));
  EXPECT_EQ(moves[8], (Move{8, 1, 0}));
}

TEST(Packing, TooFewDoNot) {
  HugeInFast of(4);  // worth 12 together, and it 8 times one and a half
  EXPECT_THAT(pack_it(of.hand, {1, 3, 3, 3, 3}, 0.5), IsEmpty());
  EXPECT_EQ(pack_it(of.hand, {1, 3, 3, 3, 3.1}, 0.5).size(), 5u);
}

TEST(Packing, WhatDoesNotFitBesideThemWaits) {
  HugeInFast of(4);
  of.hand.add(1, 0, 0, 5 * kBlock);  // warm as they are, and too large
  of.hand.add(1);
  const auto moves = pack_it(of.hand, {1, 4, 4, 4, 4, 3.9, 2}, 0.5);
  EXPECT_THAT(moves, ElementsAre(Move{0, 0, 1}, Move{1, 1, 0}, Move{2, 1, 0},
                                 Move{3, 1, 0}, Move{4, 1, 0}, Move{6, 1, 0}));
}

TEST(Packing, TogetherTheyMustFitTheBudget) {
  HugeInFast of(8);
  of.hand.budget = 12 * kBlock;  // it and four of them: no gain
  EXPECT_THAT(pack_it(of.hand, {1, 3, 3, 3, 3, 3, 3, 3, 3}, 0.5), IsEmpty());
  of.hand.budget = 13 * kBlock;
  EXPECT_EQ(pack_it(of.hand, {1, 3, 3, 3, 3, 3, 3, 3, 3}, 0.5).size(), 6u);
}

TEST(Packing, TheBudgetGoesToTheMostValuable) {
  HandView hand({10, 100});
  for (int i = 0; i < 5; ++i) hand.add(1);
  hand.budget = 2 * kBlock;
  EXPECT_THAT(pack_it(hand, {1, 5, 2, 4, 3}),
              ElementsAre(Move{1, 1, 0}, Move{3, 1, 0}));
}

// Many hot ones that the budget is too small for are dropped at once; what it
// suffices for, to the last byte, must not go with them.
TEST(Packing, ManyThatAreTooDearDoNotHideWhatIsNot) {
  HandView hand({10'000, 10'000});
  hand.budget = 10 * kBlock;
  Scores score;
  for (int i = 0; i < 500; ++i) {  // by score: too large, too large, ...
    hand.add(1, 0, 0, 11 * kBlock);
    score.push_back(2000 - i);
  }
  const ObjectId fits = hand.add(1, 0, 0, 7 * kBlock);
  hand.add(1, 0, 0, 4 * kBlock);  // not in what is left
  const ObjectId rest = hand.add(1, 0, 0, 3 * kBlock);
  for (const double s : {1000, 999, 998}) score.push_back(s);
  EXPECT_THAT(pack_it(hand, score),
              ElementsAre(Move{fits, 1, 0}, Move{rest, 1, 0}));
}

TEST(Packing, ManySwapsThatAreTooDearDoNotHideOneThatIsNot) {
  HandView hand({3005, 10'000});
  hand.budget = 10 * kBlock;
  Scores score;
  for (int i = 0; i < 500; ++i) {  // a swap moves twice as much
    hand.add(0, 0, 0, 6 * kBlock);
    score.push_back(1);
  }
  const ObjectId cold = hand.add(0, 0, 0, 5 * kBlock);
  score.push_back(0.5);
  for (int i = 0; i < 500; ++i) {
    hand.add(1, 0, 0, 6 * kBlock);
    score.push_back(2000 - i);
  }
  const ObjectId hot = hand.add(1, 0, 0, 5 * kBlock);
  score.push_back(1000);
  EXPECT_THAT(pack_it(hand, score),
              ElementsAre(Move{cold, 0, 1}, Move{hot, 1, 0}));
}

TEST(Packing, OverfullTiersAreDrainedColdestFirst) {
  HandView hand({1, 100});
  hand.add(0);
  hand.add(0);
  hand.add(0);
  EXPECT_THAT(pack_it(hand, {2, 3, 1}),
              ElementsAre(Move{2, 0, 1}, Move{0, 0, 1}));
}

TEST(Packing, MemoryOutsideObjectsTakesRoom) {
  HandView hand({2, 100});
  hand.add(1);
  hand.add(1);
  View view = hand.view();
  hand.tiers[0].used = kBlock;  // of no object
  EXPECT_THAT(pack(view, Scores{1, 2}, {0, 1}), ElementsAre(Move{1, 1, 0}));
}

TEST(Packing, ImmovableAndEmptyObjectsAreLeftAlone) {
  HandView hand({2, 100});
  hand.add(0, 0, 0, kBlock, false);
  hand.add(1, 0, 0, kBlock, false);
  hand.add(1, 0, 0, 0);
  hand.add(1);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {0, 9, 9, 2, 3}), ElementsAre(Move{4, 1, 0}));
}

TEST(Packing, FillLeavesHeadroomButEvictsNobodyForIt) {
  HandView hand({4, 100});
  for (int i = 0; i < 3; ++i) hand.add(0);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {1, 1, 1, 1}, 0, 0.5), IsEmpty());
  HandView empty({4, 100});
  for (int i = 0; i < 4; ++i) empty.add(1);
  EXPECT_EQ(pack_it(empty, {1, 1, 1, 1}, 0, 0.5).size(), 2u);
}

TEST(Packing, ASmallHotObjectDoesNotPutOutALargeWarmOne) {
  HandView hand({4, 100});
  hand.add(0, 0, 0, 4 * kBlock);
  hand.add(1, 0, 0, kBlock);
  EXPECT_THAT(pack_it(hand, {10, 30}), IsEmpty());  // 30 blocks < 40 blocks
  EXPECT_EQ(pack_it(hand, {10, 50}).size(), 2u);
}

TEST(Packing, FillsTheNextTierWithWhatTheFastestCannotHold) {
  HandView hand({1, 1, 100});
  for (int i = 0; i < 3; ++i) hand.add(2);
  EXPECT_THAT(pack_it(hand, {1, 3, 2}),
              ElementsAre(Move{1, 2, 0}, Move{2, 2, 1}));
}

TEST(Packing, AFullMiddleTierIsNotPassedThroughByASwap) {
  // Object 1 (middle) is to swap with 0 (fast), but demotions come first and
  // the middle is full: the demoted object goes to the slowest tier.
  HandView hand({1, 1, 100});
  hand.add(0);
  hand.add(1);
  EXPECT_THAT(pack_it(hand, {1, 9}), ElementsAre(Move{0, 0, 2}, Move{1, 1, 0}));
}

TEST(Packing, SettlesInsteadOfPingPong) {
  HandView hand({3, 4, 100});
  Scores score;
  for (int i = 0; i < 12; ++i) {
    hand.add(static_cast<TierId>(i % 3), 0, 0,
             kBlock / static_cast<Bytes>(1 + i % 2));
    score.push_back((i * 7) % 12 + 1);
  }
  int windows = 0;
  for (; windows < 20; ++windows) {
    const auto moves = pack_it(hand, score, 0.1);
    if (moves.empty()) break;
    hand.apply(moves);
  }
  EXPECT_LT(windows, 6);
}

TEST(Packing, OfAllSizesEachExchangePays) {
  std::mt19937 rng(1);
  const auto below = [&](std::uint32_t n) {
    return static_cast<std::uint32_t>(rng() % n);
  };
  int exchanges = 0;
  for (int job = 0; job < 100; ++job) {
    HandView hand({20 + below(40), 1000});
    Bytes fast = 0;
    for (int i = 0; i < 60; ++i) {
      const Bytes bytes = kBlock << below(5);
      const bool fits = fast + bytes <= hand.tiers[0].capacity;
      if (fits) fast += bytes;
      hand.add(fits ? 0 : 1, 0, 0, bytes);
    }
    for (int window = 0; window < 20; ++window) {
      Scores score;
      for (int i = 0; i < 60; ++i) score.push_back(below(1000) - 100.0);
      const auto worth = [&] {  // of what is in fast memory
        double sum = 0;
        for (const ObjectView& one : hand.objects) {
          if (one.tier != 0) continue;
          sum += std::max(0.0, score[one.id]) * static_cast<double>(one.bytes);
        }
        return sum;
      };
      const double before = worth();
      hand.budget = kBlock * below(120);
      const auto moves = pack_it(hand, score, 0.5);
      Bytes moved = 0;
      for (const Move& move : moves) moved += hand.objects[move.object].bytes;
      ASSERT_LE(moved, hand.budget);
      hand.apply(moves);
      hand.view();
      ASSERT_LE(hand.tiers[0].used, hand.tiers[0].capacity);
      if (moves.empty()) continue;
      ASSERT_GT(worth(), before);
      ++exchanges;
    }
  }
  EXPECT_GT(exchanges, 1000);  // of 2,000 windows
}

TEST(Packing, ExtremesDoNotOverflow) {
  HandView hand({0, 100});
  hand.tiers[0].capacity = ~Bytes{0};
  hand.add(1, 0, 0, Bytes{1} << 62);
  hand.add(1);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(pack_it(hand, {inf, 1e308}, 0.2, 0.999).size(), 2u);
  HandView single(std::vector<Bytes>{1});
  single.add(0);
  EXPECT_THAT(pack_it(single, {1}), IsEmpty());
  EXPECT_THAT(pack(View{}, {}, PackOptions{}), IsEmpty());
}

}  // namespace
}  // namespace thermocline
