#include "daemon/split_regions.h"

#include <gtest/gtest.h>

#include <random>

#include "daemon/region_heat.h"

namespace thermocline {
namespace {

constexpr Bytes kGrid = 256 * 1024;
constexpr Bytes kMiB = Bytes{1} << 20;
constexpr Bytes kGiB = Bytes{1} << 30;
constexpr Address kBase = Address{1} << 40;

Mapping mapping(Address start, Address end) {
  return {0, start, end, "rw-p", ""};
}

// Every byte of a mapping has one region, and each is found by its bytes.
void expect_cover(const SplitRegions& regions, Address start, Address end) {
  Address at = start;
  regions.each(start, end, [&](ObjectId id) {
    const Region& region = regions.region(id);
    EXPECT_EQ(region.start, at);
    EXPECT_EQ(regions.find(region.start), id);
    EXPECT_EQ(regions.find(region.end - 1), id);
    at = region.end;
  });
  EXPECT_EQ(at, end);
}

TEST(SplitRegions, WhatFitsIsOfOneSize) {
  SplitRegions regions(kGrid, 64 * kMiB, 1024);
  EXPECT_TRUE(regions.add(mapping(kBase, kBase + 16 * kMiB)));
  EXPECT_EQ(regions.size(), 64u);
  EXPECT_TRUE(regions.large().empty());
  EXPECT_TRUE(regions.split(3).empty());
  EXPECT_TRUE(regions.block(3).empty());
  expect_cover(regions, kBase, kBase + 16 * kMiB);
}

TEST(SplitRegions, WhatDoesNotFitTakesHalfOfWhatIsLeft) {
  SplitRegions regions(kGrid, 64 * kMiB, 1024);
  ASSERT_TRUE(regions.add(mapping(kBase, kBase + 4 * kMiB)));
  const Address big = kBase + 8 * kMiB + 4096;
  ASSERT_TRUE(regions.add(mapping(big, big + 4 * kGiB)));
  EXPECT_GE(regions.left(), 500u);
  EXPECT_GE(regions.size(), 16u + 4 * kGiB / (16 * kMiB));
  expect_cover(regions, kBase, kBase + 4 * kMiB);
  expect_cover(regions, big, big + 4 * kGiB);
  EXPECT_FALSE(regions.find(big - 1));
  EXPECT_FALSE(regions.find(big + 4 * kGiB));
  // Known is known; what grew has its growth covered, and nothing twice.
  const auto before = regions.size();
  ASSERT_TRUE(regions.add(mapping(big, big + 4 * kGiB)));
  EXPECT_EQ(regions.size(), before);
  ASSERT_TRUE(regions.add(mapping(kBase, big + 5 * kGiB)));
  EXPECT_GT(regions.size(), before);
  expect_cover(regions, kBase, big + 5 * kGiB);
}

// A heap that grows downwards: what was there began within a slot of the grid.
TEST(SplitRegions, WhatBeginsWithinASlotIsNotCoveredTwice) {
  SplitRegions regions(kGrid, 64 * kMiB, 1024);
  const Address start = kBase + kGrid / 4;
  ASSERT_TRUE(regions.add(mapping(start, kBase + 4 * kMiB)));
  const auto seen = regions.touching(kBase - kMiB, kBase + kMiB);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(regions.region(seen[0]).start, start);
  ASSERT_TRUE(regions.add(mapping(kBase - 4 * kGiB, kBase + 4 * kMiB)));
  expect_cover(regions, kBase - 4 * kGiB, kBase + 4 * kMiB);
  for (ObjectId id = 0; id < regions.size(); ++id) {
    const Region& region = regions.region(id);
    EXPECT_TRUE(region.end <= start || region.start >= start) << id;
  }
}

TEST(SplitRegions, TooMuchIsRefusedAndNothingOfItAdded) {
  SplitRegions regions(kGrid, kMiB, 64);
  EXPECT_FALSE(regions.add(mapping(kBase, kBase + kGiB)));
  EXPECT_EQ(regions.size(), 0u);
  EXPECT_FALSE(regions.add(mapping(kBase, kBase + (Bytes{1} << 46))));
}

TEST(SplitRegions, SplitsAndMergesKeepEveryByte) {
  SplitRegions regions(kGrid, 64 * kMiB, 2048);
  const Address end = kBase + 3 * kGiB + 5 * 4096;
  ASSERT_TRUE(regions.add(mapping(kBase + 4096, end)));
  std::mt19937 random(1);
  std::size_t splits = 0;
  std::size_t merges = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto id = static_cast<ObjectId>(random() % regions.size());
    if (regions.region(id).bytes() == 0) continue;
    if (random() % 2 == 0) {
      const auto parts = regions.split(id);
      if (!parts.empty()) {
        ++splits;
        EXPECT_EQ(parts.front(), id);
        EXPECT_LE(parts.size(), SplitRegions::kParts + 1);
      }
    } else if (const auto group = regions.block(id); !group.empty()) {
      ++merges;
      const Region last = regions.region(group.back());
      regions.merge(group);
      EXPECT_EQ(regions.region(group.front()).end, last.end);
      EXPECT_EQ(regions.region(group.back()).bytes(), 0u);
      EXPECT_LE(regions.region(group.front()).bytes(), 64 * kMiB);
    }
    if (i % 100 == 0) expect_cover(regions, kBase + 4096, end);
  }
  expect_cover(regions, kBase + 4096, end);
  EXPECT_GT(splits, 100u);
  EXPECT_GT(merges, 100u);
  EXPECT_LE(regions.size(), 2048u);  // numbers are given out again
}

class RegionHeatTest : public ::testing::Test {
 protected:
  // Samples as Poisson would have them: so many a window evenly, and `hot` in
  // as much as the smallest region.
  void window(int even, int hot, Address spot) {
    std::vector<double> samples(regions.size());
    for (int i = 0; i < even + hot; ++i) {
      const Address at =
          i < even ? kBase + random() % (8 * kGiB) : spot + random() % kGrid;
      ++samples[*regions.find(at)];
    }
    heat.end_window(regions, samples);
    for (const auto& group : heat.to_merge(regions)) {
      regions.merge(group);
      heat.merged(group);
    }
    for (const auto id : heat.to_split(regions)) {
      const auto parts = regions.split(id);
      if (parts.empty()) break;
      heat.split(parts);
    }
  }
  Bytes size_at(Address at) {
    return regions.region(*regions.find(at)).bytes();
  }

  void SetUp() override {
    ASSERT_TRUE(regions.add(mapping(kBase, kBase + 8 * kGiB)));
  }
  std::mt19937_64 random{1};
  SplitRegions regions{kGrid, 64 * kMiB, 512};
  RegionHeat heat;
};

TEST_F(RegionHeatTest, ASmallHotAreaInALargeMappingIsFound) {
  const Address spot = kBase + 5 * kGiB + 3 * kMiB;
  for (int i = 0; i < 100; ++i) window(100, 100, spot);
  EXPECT_EQ(size_at(spot), kGrid);
  EXPECT_GE(size_at(kBase + kGiB), 16 * kMiB);
}

TEST_F(RegionHeatTest, WhatIsNoMoreHotIsMerged) {
  const auto before = regions.left();
  for (int spot = 0; spot < 20; ++spot) {
    const Address at = kBase + static_cast<Address>(spot) * 400 * kMiB;
    for (int i = 0; i < 100; ++i) window(0, 100, at);
    EXPECT_EQ(size_at(at), kGrid) << spot;
  }
  for (int i = 0; i < 600; ++i) window(0, 0, kBase);
  EXPECT_GE(regions.left() + 64, before);
  expect_cover(regions, kBase, kBase + 8 * kGiB);
}

// To split it would tell nothing, and take what others need.
TEST_F(RegionHeatTest, WhatIsEvenlyHotIsMergedAgain) {
  for (int i = 0; i < 200; ++i) window(4'000, 0, kBase);
  EXPECT_GT(regions.left(), 100u);
}

}  // namespace
}  // namespace thermocline
