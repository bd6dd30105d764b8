#include "daemon/process.h"

#include <gtest/gtest.h>

#include "daemon/node_memory.h"

namespace thermocline {
namespace {

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
