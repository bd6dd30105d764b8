#include "daemon/fast_shares.h"

#include <gtest/gtest.h>

#include <numeric>

namespace thermocline {
namespace {

using Bytess = std::vector<Bytes>;

TEST(FastShares, OneAloneMayHaveAll) {
  const FastClaim one{{1, 0}, 10};
  EXPECT_EQ(divide_fast(100, {&one, 1}), (Bytess{100}));
  EXPECT_TRUE(divide_fast(100, {}).empty());
}

TEST(FastShares, ByWeightWhereAllWantMore) {
  const std::vector<FastClaim> claims{{{3, 0}, 1000}, {{1, 0}, 1000}};
  EXPECT_EQ(divide_fast(400, claims), (Bytess{300, 100}));
}

TEST(FastShares, WhatOneDoesNotWantGoesToTheOthers) {
  const std::vector<FastClaim> claims{
      {{1, 0}, 30}, {{1, 0}, 1000}, {{2, 0}, 1000}};
  EXPECT_EQ(divide_fast(330, claims), (Bytess{30, 100, 200}));
}

TEST(FastShares, MinimaComeFirst) {
  const std::vector<FastClaim> claims{{{1, 250}, 1000}, {{9, 0}, 1000}};
  EXPECT_EQ(divide_fast(400, claims), (Bytess{265, 135}));
  // But only as far as the target can use it.
  const std::vector<FastClaim> idle{{{1, 250}, 10}, {{1, 0}, 1000}};
  EXPECT_EQ(divide_fast(400, idle), (Bytess{10, 390}));
}

TEST(FastShares, PromisesThatCannotBeKeptAreKeptInPart) {
  const std::vector<FastClaim> claims{{{1, 300}, 1000}, {{1, 100}, 1000}};
  EXPECT_EQ(divide_fast(200, claims), (Bytess{150, 50}));
}

TEST(FastShares, NothingIsLostAndNothingMade) {
  std::vector<FastClaim> claims;
  for (Bytes i = 1; i < 40; ++i) {
    claims.push_back({{static_cast<double>(i % 7 + 1), i * 13 % 50}, i * 31});
  }
  for (const Bytes bytes :
       {Bytes{0}, Bytes{100}, Bytes{5000}, Bytes{100'000}}) {
    const auto out = divide_fast(bytes, claims);
    const Bytes sum = std::accumulate(out.begin(), out.end(), Bytes{0});
    EXPECT_LE(sum, bytes);
    EXPECT_GE(sum + claims.size(), bytes);
  }
}

}  // namespace
}  // namespace thermocline
