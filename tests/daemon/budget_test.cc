#include "daemon/budget.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr Nanos kSecond = 1'000'000'000;

TEST(Budget, FillsSteadilyAndNotOver) {
  Budget budget(1000, 0, 0);
  const auto moves = *budget.add("migration", 1);
  EXPECT_EQ(budget.available(moves, 0), 1000u);
  budget.take(moves, 1000);
  EXPECT_EQ(budget.available(moves, 0), 0u);
  EXPECT_EQ(budget.available(moves, kSecond / 2), 500u);
  EXPECT_EQ(budget.available(moves, 100 * kSecond), 1000u);
  // The clock never runs backwards; if it does, nothing is gained.
  EXPECT_EQ(budget.available(moves, 0), 1000u);
}

TEST(Budget, OneRegionFitsSomeDay) {
  Budget budget(10, 100, 0);
  const auto moves = *budget.add("migration", 1);
  budget.take(moves, 100);
  EXPECT_EQ(budget.available(moves, 20 * kSecond), 100u);
}

TEST(Budget, ZeroIsNoMoves) {
  Budget budget(0, 100, 0);
  const auto moves = *budget.add("migration", 1);
  EXPECT_EQ(budget.available(moves, 1000 * kSecond), 0u);
  budget.set_rate(5000);
  EXPECT_EQ(budget.available(moves, 1001 * kSecond), 5000u);
  budget.set_rate(1000);
  EXPECT_EQ(budget.available(moves, 1001 * kSecond), 1000u);
}

TEST(Budget, EachIsSureOfItsShareAndMayUseWhatIsLeft) {
  Budget budget(1000, 0, 0);
  const auto moves = *budget.add("migration", 3);
  const auto checkpoints = *budget.add("checkpoint", 1);
  budget.take(moves, budget.available(moves, 0));  // what was saved up
  EXPECT_EQ(budget.available(checkpoints, 0), 0u);
  // Greedy: it takes all that it can, ten times a second, for two seconds.
  Bytes taken = 0;
  for (int i = 1; i <= 20; ++i) {
    const Bytes now = budget.available(checkpoints, i * kSecond / 10);
    budget.take(checkpoints, now);
    taken += now;
  }
  // Its quarter, and what overflowed after the other's purse was full.
  EXPECT_NEAR(static_cast<double>(taken), 500 + 750, 10);
  EXPECT_NEAR(static_cast<double>(budget.available(moves, 2 * kSecond)), 750,
              1);
}

TEST(Budget, TogetherTheyNeverHaveMoreThanOneSecondsWorth) {
  Budget budget(1000, 0, 0);
  const auto one = *budget.add("one", 1);
  const auto two = *budget.add("two", 1);
  EXPECT_EQ(budget.available(one, 1000 * kSecond), 500u);
  budget.take(one, 500);
  EXPECT_EQ(budget.available(two, 1000 * kSecond), 500u);
  budget.give_back(one, 300);
  EXPECT_EQ(budget.available(one, 1000 * kSecond), 300u);
  EXPECT_EQ(budget.uses()[0].taken, 200u);
}

// Of a region in a huge page all of the page moves, which is known afterwards.
TEST(Budget, WhatWasUsedBeforeItWasThereIsPaidBackFirst) {
  Budget budget(1000, 0, 0);
  const auto moves = *budget.add("migration", 1);
  const auto writer = *budget.add("writer", 1);
  Bytes moved = 0;
  Bytes written = 0;
  for (int i = 0; i < 100; ++i) {
    const Nanos now = i * kSecond / 5;
    if (const Bytes room = budget.available(moves, now); room > 0) {
      budget.take(moves, room);
      budget.take(moves, 7 * room);  // dragged along
      moved += 8 * room;
    }
    const Bytes room = budget.available(writer, now);
    budget.take(writer, room);
    written += room;
  }
  // A second's worth was saved up, and the last move is not paid for yet.
  EXPECT_LE(moved + written, 20'000u + 1000u + 8'000u);
  EXPECT_GE(written, 9'000u) << "its share, whatever the other owes";
  EXPECT_GE(moved, 9'000u);
  budget.set_rate(0);
  EXPECT_EQ(budget.available(moves, 21 * kSecond), 0u);
}

TEST(Budget, NamesAreTakenOnceAndFreeAgain) {
  Budget budget(1000, 0, 0);
  const auto id = budget.add("checkpoint", 1);
  ASSERT_TRUE(id);
  EXPECT_FALSE(budget.add("checkpoint", 1));
  EXPECT_FALSE(budget.add("", 1));
  EXPECT_FALSE(budget.add("other", 0));
  budget.remove(*id);
  EXPECT_TRUE(budget.uses().empty());
  EXPECT_TRUE(budget.add("checkpoint", 2));
}

}  // namespace
}  // namespace thermocline
