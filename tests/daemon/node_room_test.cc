#include "daemon/node_room.h"

#include <gtest/gtest.h>

#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

// A node with so many pages free, of which it keeps 900, and as many KiB of
// page cache that nobody has used lately.
void say(ScriptedKernel& kernel, int free_pages, int cache_kib) {
  kernel.files["sys/devices/system/node/node0/meminfo"] =
      "Node 0 MemTotal: 81920 kB\nNode 0 MemFree: " +
      std::to_string(free_pages * 4) +
      " kB\nNode 0 Inactive(file): " + std::to_string(cache_kib) + " kB\n";
  kernel.files["proc/zoneinfo"] = "Node 0, zone Normal\n  pages free " +
                                  std::to_string(free_pages) + "\n  low 900\n";
}

TEST(NodeRoom, EndsWhereTheKernelsOwnBegins) {
  ScriptedKernel kernel;
  say(kernel, 1000, 0);
  NodeRoom room(kernel, 0);
  EXPECT_EQ(room.take(60 * kPage), 60 * kPage);
  say(kernel, 940, 0);
  EXPECT_EQ(room.take(60 * kPage), 40 * kPage);
  say(kernel, 900, 0);
  EXPECT_EQ(room.take(kPage), 0);
  say(kernel, 10, 0);  // the kernel has begun on it itself
  EXPECT_EQ(room.take(kPage), 0);
}

TEST(NodeRoom, CacheThatIsEasilyGivenUpIsFree) {
  ScriptedKernel kernel;
  say(kernel, 900, 1000);
  NodeRoom room(kernel, 0);
  EXPECT_EQ(room.take(Bytes{1} << 20), 800 * 1024);
}

TEST(NodeRoom, AsksAgainOnlyWhenHalfOfItIsGone) {
  ScriptedKernel kernel;
  say(kernel, 1100, 0);
  NodeRoom room(kernel, 0);
  EXPECT_EQ(room.take(50 * kPage), 50 * kPage);
  const auto reads = kernel.reads;
  EXPECT_EQ(room.take(50 * kPage), 50 * kPage);
  EXPECT_EQ(kernel.reads, reads);
  EXPECT_EQ(room.take(kPage), kPage);
  EXPECT_GT(kernel.reads, reads);
}

TEST(NodeRoom, WhoeverDoesNotTellIsTakenToHaveRoom) {
  ScriptedKernel kernel;
  NodeRoom room(kernel, 0);
  EXPECT_EQ(room.take(Bytes{1} << 40), Bytes{1} << 40);
}

}  // namespace
}  // namespace thermocline
