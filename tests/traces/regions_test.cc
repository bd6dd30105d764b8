#include "traces/regions.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr Bytes kRegion = 0x10000;

Mapping area(Address start, Address end, std::string permissions = "rw-p",
             std::string name = "") {
  return {0, start, end, std::move(permissions), std::move(name)};
}

TEST(RegionMap, CutsAndClips) {
  RegionMap map(kRegion);
  map.add(area(0x1f000, 0x41000));
  ASSERT_EQ(map.regions().size(), 4);
  EXPECT_EQ(map.region(0).start, 0x1f000);
  EXPECT_EQ(map.region(0).end, 0x20000);
  EXPECT_EQ(map.region(1).bytes(), kRegion);
  EXPECT_EQ(map.region(3).start, 0x40000);
  EXPECT_EQ(map.region(3).end, 0x41000);
  EXPECT_EQ(map.find(0x1efff), std::nullopt);
  EXPECT_EQ(map.find(0x1f000), 0);
  EXPECT_EQ(map.find(0x2ffff), 1);
  EXPECT_EQ(map.find(0x40fff), 3);
  EXPECT_EQ(map.find(0x41000), std::nullopt);
}

TEST(RegionMap, GrowthKeepsTheNumbers) {
  RegionMap map(kRegion);
  map.add(area(0x100000, 0x118000));
  map.add(area(0x500000, 0x510000));
  const auto old = map.find(0x117000);
  ASSERT_TRUE(old);
  map.add(area(0x100000, 0x140000));  // the heap grew
  EXPECT_EQ(map.find(0x117000), old);
  EXPECT_EQ(map.find(0x119000), old);
  EXPECT_EQ(map.find(0x500000), 2);
  EXPECT_EQ(map.find(0x120000), 3);
  EXPECT_EQ(map.regions().size(), 5);
  map.add(area(0x100000, 0x110000));  // and shrank: regions stay
  EXPECT_EQ(map.find(0x120000), 3);
}

TEST(RegionMap, TwoMappingsInOneRegionShareIt) {
  RegionMap map(kRegion);
  map.add(area(0x24000, 0x25000));
  map.add(area(0x21000, 0x22000));
  ASSERT_EQ(map.regions().size(), 1);
  EXPECT_EQ(map.region(0).start, 0x21000);
  EXPECT_EQ(map.region(0).end, 0x25000);
}

TEST(RegionMap, IgnoresWhatCannotBePlaced) {
  RegionMap map(kRegion);
  map.add(area(0x10000, 0x20000, "r-xp", "[vdso]"));
  map.add(area(0x20000, 0x30000, "r--p", "[vvar]"));
  map.add(area(0x30000, 0x40000, "r--p", "[vvar_vclock]"));
  map.add(area(0x40000, 0x50000, "--xp", "[vsyscall]"));
  map.add(area(0x50000, 0x60000, "---p"));
  map.add(area(0x70000, 0x70000));
  map.add(area(0x90000, 0x80000));
  EXPECT_TRUE(map.regions().empty());
  map.add(area(0x70000, 0x80000, "rw-p", "[heap]"));
  map.add(area(0x80000, 0x90000, "rw-p", "[stack]"));
  map.add(area(0x90000, 0xa0000, "r--s", "/data/text"));
  EXPECT_EQ(map.regions().size(), 3);
}

TEST(RegionMap, WorksAtTheTopOfTheAddressSpace) {
  constexpr Address kTop = ~Address{0};
  RegionMap map(kRegion);
  map.add(area(kTop - 0x17fff, kTop));
  ASSERT_EQ(map.regions().size(), 2);
  EXPECT_EQ(map.region(1).start, kTop - 0xffff);
  EXPECT_EQ(map.region(1).end, kTop);
  EXPECT_EQ(map.find(kTop - 1), 1);
  EXPECT_EQ(map.find(kTop), std::nullopt);
  EXPECT_EQ(map.find(0), std::nullopt);
}

TEST(RegionMap, ReservationsOfTerabytesAreBounded) {
  RegionMap map(4096);
  map.add(area(0x10000000, 0x20000000));
  const auto before = map.regions().size();
  map.add(area(0x100000000000, 0x200000000000));
  map.add(area(0, ~Address{0}));
  EXPECT_EQ(map.regions().size(), before);
  EXPECT_EQ(map.ignored_bytes(), 0x100000000000 + ~Address{0});
  EXPECT_TRUE(map.find(0x10000000));
}

TEST(RegionMapDeathTest, RegionBytesMustBeAPowerOfTwoOfAtLeastAPage) {
  EXPECT_DEATH(RegionMap(0), "check failed");
  EXPECT_DEATH(RegionMap(2048), "check failed");
  EXPECT_DEATH(RegionMap(5000), "check failed");
}

}  // namespace
}  // namespace thermocline
