#include "daemon/zone_info.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

const char* const kTwoNodes =
    "Node 0, zone      DMA\n"
    "  per-node stats\n"
    "      nr_inactive_anon 27527\n"
    "  pages free     3840\n"
    "        boost    0\n"
    "        min      12\n"
    "        low      15\n"
    "        high     18\n"
    "        managed  3840\n"
    "        protection: (0, 3019, 20043, 20043, 20043)\n"
    "      nr_free_pages 3840\n"
    "  pagesets\n"
    "    cpu: 0\n"
    "              count:    0\n"
    "              high_min: 13\n"
    "Node 0, zone    DMA32\n"
    "  pages free     20000\n"
    "        low      3315\n"
    "        protection: (0, 0, 10000, 10000, 10000)\n"
    "Node 0, zone   Normal\n"
    "  pages free     1000\n"
    "        low      900\n"
    "        protection: (0, 0, 0, 0, 0)\n"
    "Node 1, zone   Normal\n"
    "  pages free     500000\n"
    "        low      1000\n"
    "        protection: (0, 0, 0, 0, 0)\n"
    "Node 10, zone   Normal\n"
    "  pages free     77\n";

TEST(ZoneInfo, BelowTheLowWatermarkSomethingIsMissing) {
  const std::string_view below =
      "Node 0, zone      DMA\n"
      "  pages free     1926\n"
      "        low      52\n"
      "        protection: (0, 1887, 1887, 1887, 1887)\n"
      "Node 0, zone    DMA32\n"
      "  pages free     5365\n"
      "        low      6726\n"
      "        protection: (0, 0, 0, 0, 0)\n";
  EXPECT_EQ(missing_free_bytes(below, 0), (6726 - 5365) * kPage);
  EXPECT_EQ(usable_free_bytes(below, 0), 0U);
  EXPECT_EQ(missing_free_bytes(kTwoNodes, 0), 0U);
  EXPECT_EQ(missing_free_bytes(below, 1), std::nullopt);
}

TEST(ZoneInfo, WhatIsKeptIsNotFree) {
  EXPECT_EQ(usable_free_bytes(kTwoNodes, 0),
            (20000 - 3315 - 10000 + 100) * kPage);
  EXPECT_EQ(usable_free_bytes(kTwoNodes, 1), 499000 * kPage);
  EXPECT_EQ(usable_free_bytes(kTwoNodes, 10), 77 * kPage);
}

TEST(ZoneInfo, SaysNothingOfWhatIsNotThere) {
  EXPECT_EQ(usable_free_bytes(kTwoNodes, 2), std::nullopt);
  EXPECT_EQ(usable_free_bytes("", 0), std::nullopt);
  EXPECT_EQ(usable_free_bytes("Node 0, zone DMA\n  pages free many\n", 0),
            std::nullopt);
}

TEST(ZoneInfo, ReadsThisKernels) {
  std::ifstream file("/proc/zoneinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto usable = usable_free_bytes(text, 0);
  ASSERT_TRUE(usable.has_value());
  EXPECT_GT(*usable, Bytes{1} << 20);
}

}  // namespace
}  // namespace thermocline
