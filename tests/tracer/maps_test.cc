#include "tracer/maps.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(Maps, ReadsTheKernelsForm) {
  const auto maps = parse_maps(
      "55d0c1e00000-55d0c1e22000 r-xp 0001f000 fe:00 1234    /usr/bin/job\n"
      "55d0c2000000-55d0c2021000 rw-p 00000000 00:00 0       [heap]\n"
      "7f0000000000-7f0000100000 rw-s 00000000 00:01 99      /dev/zero "
      "(deleted)\n"
      "7f1000000000-7f1000001000 rw-p 00000000 00:00 0 \n");
  EXPECT_EQ(maps.malformed, 0u);
  ASSERT_EQ(maps.areas.size(), 4u);
  EXPECT_EQ(maps.areas[0].name, "/usr/bin/job");
  EXPECT_EQ(maps.areas[0].inode, 1234u);
  EXPECT_FALSE(maps.areas[0].writable());
  EXPECT_EQ(maps.areas[1].name, "[heap]");
  EXPECT_TRUE(maps.areas[1].writable());
  EXPECT_EQ(maps.areas[1].bytes(), 0x21000u);
  EXPECT_TRUE(maps.areas[2].shared());
  EXPECT_EQ(maps.areas[2].name, "/dev/zero (deleted)");
  EXPECT_EQ(maps.areas[3].name, "");
}

TEST(Maps, HostileNamesStayNames) {
  const auto maps = parse_maps(
      "1000-2000 rw-p 00000000 fe:00 5   /tmp/a\\0127f00-8f00 rw-p 0 0:0 0\n"
      "2000-3000 rw-p 00000000 fe:00 6   /tmp/two  words\t and \xff\xfe\n");
  EXPECT_EQ(maps.malformed, 0u);
  ASSERT_EQ(maps.areas.size(), 2u);
  EXPECT_EQ(maps.areas[0].name, "/tmp/a\\0127f00-8f00 rw-p 0 0:0 0");
  EXPECT_EQ(maps.areas[1].name, "/tmp/two  words\t and \xff\xfe");
}

TEST(Maps, SkipsAndCountsWhatIsNotOfTheForm) {
  const char* bad[] = {
      "",
      "nonsense",
      "2000-1000 rw-p 0 0:0 0",                            // ends before start
      "1000-2000 rwxq 0 0:0 0",                            // permissions
      "1000-2000 rw-p 0 0:0",                              // no inode
      "1000-2000 rw-p 0 0:0 0x",                           // junk after it
      "1000 2000 rw-p 0 0:0 0",                            // no dash
      "11111111111111111-22222222222222222 rw-p 0 0:0 0",  // over 64 bits
      "1000-2000 rw-p",
  };
  for (const auto* line : bad) {
    const auto maps = parse_maps(std::string(line) + "\n");
    EXPECT_TRUE(maps.areas.empty()) << line;
    EXPECT_EQ(maps.malformed, 1u) << line;
  }
}

TEST(Maps, AreasThatOverlapAreTakenOnce) {
  const auto maps = parse_maps(
      "1000-3000 rw-p 0 0:0 0 \n2000-4000 rw-p 0 0:0 0 \n"
      "4000-5000 rw-p 0 0:0 0");
  EXPECT_EQ(maps.areas.size(), 2u);
  EXPECT_EQ(maps.malformed, 1u);
}

TEST(Maps, BoundAreas) {
  const auto maps = parse_numa_maps(
      "1000 default anon=1 N0=1\n2000 bind:1 anon=4 N1=4\n"
      "3000 prefer:1 anon=4\n4000 bind=static:0 anon=1\nbind:1\n"
      "5000 default file=/tmp/bind:1\n"
      "6000 default file=/anon_hugepage\\040(deleted) huge anon=2 N0=2\n"
      "7000 bind:0 file=/a\\040huge\\040file huge\n"
      "8000 default file=/a\\040huge\\040file anon=1 N0=1\n");
  EXPECT_EQ(maps.bound, (std::set<Address>{0x2000, 0x4000, 0x7000}));
  EXPECT_EQ(maps.hugetlb, (std::set<Address>{0x6000, 0x7000}));
}

}  // namespace
}  // namespace thermocline
