#include "policies/best_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<ObjectId> took(const std::vector<Claim>& claims, BytesLeft room) {
  std::vector<ObjectId> out;
  take_best(claims, room, out);
  std::sort(out.begin(), out.end());
  return out;
}

// What it promises to be the same as.
std::vector<ObjectId> by_sorting(std::vector<Claim> claims, BytesLeft room) {
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    if (a.key != b.key) return a.key > b.key;
    return a.tier != b.tier ? a.tier < b.tier : a.id < b.id;
  });
  std::vector<ObjectId> out;
  for (const Claim& claim : claims) {
    if (!room.fits(claim)) continue;
    room.taken += claim.bytes;
    out.push_back(claim.id);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(BestFit, TakesTheBestThatFit) {
  const std::vector<Claim> claims = {
      {1, 10, 0, 1, false}, {3, 10, 1, 1, false}, {2, 10, 2, 1, false}};
  EXPECT_THAT(took(claims, {0, 20, 20}), ElementsAre(1, 2));
  EXPECT_THAT(took(claims, {5, 20, 20}), ElementsAre(1));
  EXPECT_THAT(took(claims, {0, 9, 9}), IsEmpty());
  EXPECT_THAT(took({}, {0, 9, 9}), IsEmpty());
}

TEST(BestFit, ASmallerOneMayFitAfterALargeOneDidNot) {
  const std::vector<Claim> claims = {
      {3, 15, 0, 1, false}, {2, 10, 1, 1, false}, {1, 5, 2, 1, false}};
  EXPECT_THAT(took(claims, {0, 20, 20}), ElementsAre(0, 2));
}

TEST(BestFit, TiesGoToTheFasterTierAndThenTheLowerId) {
  const std::vector<Claim> claims = {
      {1, 10, 0, 2, false}, {1, 10, 1, 1, false}, {1, 10, 2, 1, false}};
  EXPECT_THAT(took(claims, {0, 10, 10}), ElementsAre(1));
  EXPECT_THAT(took(claims, {0, 20, 20}), ElementsAre(1, 2));
}

TEST(BestFit, WhatIsInsideMayUseWhatNewcomersLeaveFree) {
  const std::vector<Claim> claims = {
      {9, 10, 0, 1, false}, {2, 10, 1, 0, true}, {1, 10, 2, 0, true}};
  EXPECT_THAT(took(claims, {0, 5, 20}), ElementsAre(1, 2));
  EXPECT_THAT(took(claims, {0, 15, 30}), ElementsAre(0, 1, 2));
}

TEST(BestFit, IsTheSameAsSorting) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 400; ++round) {
    const auto kinds = random() % 4;
    std::vector<Claim> claims(random() % 3000);
    Bytes all = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const double any = static_cast<double>(random() % 100'000);
      const double key = kinds == 0   ? 1
                         : kinds == 1 ? std::floor(any / 20'000)
                         : kinds == 2 ? std::exp(any / 2'000 - 25)
                                      : any;
      const Bytes bytes = round % 3 == 0 ? 65536 : 1 + random() % 200'000;
      const auto tier = static_cast<TierId>(random() % 3);
      claims[i] = {key, bytes, static_cast<ObjectId>(i), tier, tier == 0};
      all += bytes;
    }
    BytesLeft room{all / 10 * (random() % 3), all / 10 * (random() % 8), 0};
    room.for_all = room.for_newcomers + all / 10 * (random() % 4);
    ASSERT_EQ(took(claims, room), by_sorting(claims, room)) << round;
  }
}

TEST(BestFit, SumsOfAbsurdSizesDoNotWrapAround) {
  const Bytes huge = ~Bytes{0} / 2 + 10;
  const std::vector<Claim> claims = {
      {3, huge, 0, 1, false}, {2, huge, 1, 1, false}, {1, 5, 2, 1, false}};
  EXPECT_THAT(took(claims, {0, ~Bytes{0}, ~Bytes{0}}), ElementsAre(0, 2));
}

// Objects as columns; keys of 0 claim nothing.
struct Objects {
  std::vector<double> keys;
  std::vector<Bytes> bytes;
  std::vector<TierId> tier;
  Marks movable;
  std::vector<Bytes> used;

  std::vector<ObjectId> took(BestFit& best, TierId home, BytesLeft room,
                             double least = 0) const {
    best.offer(keys, {bytes, tier, movable, used}, home, room, least);
    std::vector<ObjectId> out;
    for_each_marked(best.chosen(), [&](ObjectId i) { out.push_back(i); });
    return out;
  }
  std::vector<ObjectId> by_sorting(TierId home, BytesLeft room,
                                   double least) const {
    std::vector<Claim> claims;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] <= 0 || keys[i] < least) continue;
      claims.push_back({keys[i], bytes[i], static_cast<ObjectId>(i), tier[i],
                        tier[i] == home});
    }
    return thermocline::by_sorting(std::move(claims), room);
  }
};

TEST(BestFit, OfColumnsIsTheSameAsSorting) {
  std::mt19937_64 random(7);
  BestFit best;  // one for all: nothing is left over from call to call
  for (int round = 0; round < 600; ++round) {
    const auto kinds = random() % 5;
    const TierId home = static_cast<TierId>(random() % 3);
    Objects objects;
    Bytes all = 0;
    const std::size_t count = random() % 3000;
    for (std::size_t i = 0; i < count; ++i) {
      const double any = static_cast<double>(random() % 100'000);
      const double key = kinds == 0   ? 1
                         : kinds == 1 ? std::floor(any / 20'000)
                         : kinds == 2 ? std::exp(any / 200 - 250)
                         : kinds == 3 ? any * 1e-310
                                      : any;
      objects.keys.push_back(random() % 4 == 0 ? 0 : key);
      objects.bytes.push_back(round % 3 == 0 ? 65536 : 1 + random() % 200'000);
      objects.tier.push_back(static_cast<TierId>(random() % 3));
      all += objects.bytes.back();
    }
    BytesLeft room{all / 10 * (random() % 3), all / 10 * (random() % 8), 0};
    room.for_all = room.for_newcomers + all / 10 * (random() % 4);
    // As low as its bucket has any.
    const double power = std::exp2(static_cast<double>(random() % 20));
    const double least = round % 2 == 0 ? 0 : std::nextafter(power, 1e300);
    ASSERT_EQ(objects.took(best, home, room, least),
              objects.by_sorting(home, room, least))
        << round;
  }
}

TEST(BestFit, OfColumnsSumsOfAbsurdSizesDoNotWrapAround) {
  const Bytes huge = ~Bytes{0} / 2 + 10;
  Objects objects{{3, 2, 1, 0}, {huge, huge, 5, huge}, {1, 1, 1, 1}, {}, {}};
  BestFit best;
  EXPECT_THAT(objects.took(best, 0, {0, ~Bytes{0}, ~Bytes{0}}),
              ElementsAre(0, 2));
}

}  // namespace
}  // namespace thermocline
