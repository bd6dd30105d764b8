#include "daemon/maps.h"

#include <gtest/gtest.h>

#include "daemon/node_memory.h"
#include "daemon/process.h"

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
  const auto bound = parse_bound_areas(
      "1000 default anon=1 N0=1\n2000 bind:1 anon=4 N1=4\n"
      "3000 prefer:1 anon=4\n4000 bind=static:0 anon=1\nbind:1\n"
      "5000 default file=/tmp/bind:1\n");
  EXPECT_EQ(bound, (std::set<Address>{0x2000, 0x4000}));
}

TEST(Process, NamesMayHoldAnything) {
  const auto process = parse_process(
      "42 (a) R 1 (b)) S 1 1 1 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 777 0\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 42);
  EXPECT_EQ(process->name, "a) R 1 (b)");
  EXPECT_EQ(process->started, 777u);
  EXPECT_TRUE(process->kernel_thread);  // PF_KTHREAD is in the flags
  EXPECT_FALSE(process->zombie);
}

TEST(Process, CutTextIsCorrupt) {
  const std::string whole =
      "42 (job) Z 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 777";
  ASSERT_TRUE(parse_process(whole));
  EXPECT_TRUE(parse_process(whole)->zombie);
  for (std::size_t length = 0; length + 3 < whole.size(); ++length) {
    EXPECT_FALSE(parse_process(whole.substr(0, length))) << length;
  }
}

TEST(NodeMemory, SumsWhatTheKernelSays) {
  const auto memory = parse_node_memory(
      "\nNode 1 MemTotal:       16303428 kB\nNode 1 MemFree:  1000 kB\n"
      "Node 1 Active(file):  7 kB\nNode 1 Inactive(file):  2000 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, Bytes{16303428} * 1024);
  EXPECT_EQ(memory->free, 1000u * 1024);
  EXPECT_EQ(memory->inactive_file, 2000u * 1024);
  EXPECT_FALSE(parse_node_memory("Node 1 MemTotal: 5 kB\n"));
}

}  // namespace
}  // namespace thermocline
