#include "agent/price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace thermocline {
namespace {

// What it is worth to have an object fast for the next decisions, rather than
// slow, if a byte of fast memory costs `price` and all later choices are right.
double worth(const Outlook& one, const Horizon& of, double price) {
  const double later = of.lasted * (one.life - price);
  const double if_fast = std::max(later, -of.down);
  const double if_slow = std::max(0.0, later - of.up);
  const double soon = of.decisions * (one.soon - price);
  return soon +
         (one.fast ? if_fast + of.down - if_slow : if_fast - of.up - if_slow);
}

TEST(Price, IsWhereBothChoicesAreWorthTheSame) {
  std::mt19937_64 rng(1);
  const auto upto = [&](double most) {
    return most * static_cast<double>(rng() >> 11) * 0x1p-53;
  };
  for (int i = 0; i < 10000; ++i) {
    const Outlook one{upto(4), upto(4), rng() % 2 == 0};
    const Horizon of{1 + upto(20), upto(i % 3 == 0 ? 1 : 1000), upto(30),
                     upto(30)};
    const double price = price_of(one, of);
    EXPECT_NEAR(worth(one, of, price), 0, 1e-9);
    EXPECT_GT(worth(one, of, price - 0.01), 0);
    EXPECT_LT(worth(one, of, price + 0.01), 0);
  }
}

TEST(Price, OfAJobThatHasJustBegunIsForeseenLessTheMove) {
  const Horizon of{.decisions = 4, .lasted = 0, .up = 8, .down = 2};
  EXPECT_DOUBLE_EQ(price_of({3, 100, false}, of), 3 - 8.0 / 4);
  EXPECT_DOUBLE_EQ(price_of({3, 100, true}, of), 3 + 2.0 / 4);
}

TEST(Price, OfALongJob) {
  const Horizon of{.decisions = 10, .lasted = 1e6, .up = 20, .down = 20};
  const Outlook hot{2, 2, false};
  const Outlook cold{0, 0, true};
  // What has long been hot need not pay soon, and what has long been cold makes
  // room for it.
  EXPECT_NEAR(price_of(hot, of), 2, 1e-3);
  EXPECT_NEAR(price_of(cold, of), 0, 1e-3);
  // A burst pays for the way there and back.
  EXPECT_LT(price_of({3, 0, false}, of), price_of({1, 1, true}, of));
  EXPECT_GT(price_of({6, 0, false}, of), price_of({1, 1, true}, of));
  // What is hot for good stays while it rests.
  EXPECT_GT(price_of({0, 2, true}, of), price_of({2, 1, false}, of));
}

}  // namespace
}  // namespace thermocline
