#include "tests/bench/mixed_placements.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace thermocline {
namespace {

constexpr Address kPage = 4096;
constexpr Address kBase = 100'000 * kPage;  // number modulo 100 is 0

// Two arrays of 100 pages each, a gap of 50 between them; the first page of
// the second has most of the samples.
const std::vector<NamedSpan> kArrays = {
    {"low", kBase, kBase + 100 * kPage},
    {"high", kBase + 150 * kPage + 16, kBase + 250 * kPage - 16}};

Trace hot_page() {
  Trace trace;
  for (int i = 0; i < 10; ++i) {
    Sample sample;
    sample.time = i;
    sample.address = kBase + 150 * kPage + 64;
    trace.samples.push_back(sample);
  }
  return trace;
}

std::map<std::string, MixedPlacement> made(
    const std::vector<NamedSpan>& arrays) {
  std::map<std::string, MixedPlacement> all;
  for (const auto& one : mixed_placements(arrays, hot_page())) {
    EXPECT_TRUE(all.emplace(one.name, one).second) << one.name;
  }
  return all;
}

TEST(MixedPlacements, EndpointsAreEverything) {
  const auto all = made(kArrays);
  for (const Address address : {Address{0}, kBase, kBase + 249 * kPage}) {
    EXPECT_FALSE(all.at("all_slow").is_fast(address));
    EXPECT_TRUE(all.at("all_fast").is_fast(address));
  }
  EXPECT_EQ(all.at("all_slow").share, 0);
  EXPECT_EQ(all.at("all_fast").share, 1);
}

TEST(MixedPlacements, PercentIsByPageNumberModuloHundred) {
  const MixedPlacement one = made(kArrays).at("percent-25");
  EXPECT_TRUE(one.is_fast(kBase + 24 * kPage + 4095));
  EXPECT_FALSE(one.is_fast(kBase + 25 * kPage));
  EXPECT_TRUE(one.is_fast(kBase + 200 * kPage));
  EXPECT_FALSE(one.is_fast(kBase + 100 * kPage));  // of no array
  EXPECT_DOUBLE_EQ(one.share, 0.25);
}

TEST(MixedPlacements, HalvesAreOfPagesByAddress) {
  const auto all = made(kArrays);
  EXPECT_TRUE(all.at("lower-half").is_fast(kBase + 99 * kPage));
  EXPECT_FALSE(all.at("lower-half").is_fast(kBase + 150 * kPage));
  EXPECT_TRUE(all.at("upper-half").is_fast(kBase + 150 * kPage));
  EXPECT_DOUBLE_EQ(all.at("lower-quarter").share, 0.25);
  EXPECT_FALSE(all.at("upper-80").is_fast(kBase + 39 * kPage));
  EXPECT_TRUE(all.at("upper-80").is_fast(kBase + 40 * kPage));
}

TEST(MixedPlacements, HottestGoesBySamples) {
  const MixedPlacement one = made(kArrays).at("hottest-10");
  EXPECT_TRUE(one.is_fast(kBase + 150 * kPage));
  EXPECT_DOUBLE_EQ(one.share, 0.1);
}

TEST(MixedPlacements, ObjectsAreWholeArrays) {
  const auto all = made(kArrays);
  EXPECT_TRUE(all.at("high-fast").is_fast(kBase + 150 * kPage));
  EXPECT_TRUE(all.at("high-fast").is_fast(kBase + 249 * kPage));
  EXPECT_FALSE(all.at("high-fast").is_fast(kBase + 99 * kPage));
  EXPECT_FALSE(all.contains("high-slow"));  // low-fast, but for the rest
  auto three = kArrays;
  three.push_back({"third", kBase + 300 * kPage, kBase + 301 * kPage});
  const auto more = made(three);
  EXPECT_FALSE(more.at("third-slow").is_fast(kBase + 300 * kPage));
  EXPECT_TRUE(more.at("third-slow").is_fast(kBase));
  EXPECT_TRUE(more.at("third-slow").is_fast(0));  // what is in no array
  EXPECT_FALSE(made({kArrays[0]}).contains("low-fast"));
}

TEST(MixedPlacements, AreReadAsTheyAreWritten) {
  for (const auto& one : mixed_placements(kArrays, hot_page())) {
    const auto read = MixedPlacement::from_json(one.to_json());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->to_json(), one.to_json());
    for (Address page = kBase; page < kBase + 260 * kPage; page += kPage) {
      ASSERT_EQ(read->is_fast(page), one.is_fast(page)) << one.name;
    }
  }
  EXPECT_FALSE(MixedPlacement::from_json({{"name", "x"}}));
}

}  // namespace
}  // namespace thermocline
