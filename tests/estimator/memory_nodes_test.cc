#include "estimator/memory_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/cache_bytes.h"
#include "tests/estimator/fake_root.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kMiB = 1024 * 1024;

std::vector<std::string> names(const Machine& machine) {
  std::vector<std::string> out;
  for (const Tier& tier : machine.tiers) out.push_back(tier.name);
  return out;
}

TEST(MemoryNodes, PrefersWhatTheNearestCpusSee) {
  FakeRoot root;
  root.online("0").node(0, "0-3", 1000, "10").hmat(0, 50, 1000);
  root.hmat(0, 90, 700, "access1");
  const auto nodes = read_memory_nodes(root.path());
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].cpus.size(), 4u);
  EXPECT_EQ(nodes[0].tier.read_ns, 90);
  EXPECT_EQ(nodes[0].tier.write_bytes_per_s, 700 * kMiB);
  EXPECT_EQ(nodes[0].tier.origins.read_ns.obtained, Obtained::kHmat);
  EXPECT_THAT(nodes[0].hmat_path, HasSubstr("node0/access1/initiators"));
}

TEST(MemoryNodes, WhatHmatLeavesOutIsNotKnown) {
  FakeRoot root;
  root.online("0").node(0, "0", 1000, "10").hmat(0, "read_latency", 80);
  const auto nodes = read_memory_nodes(root.path());
  EXPECT_EQ(nodes[0].tier.read_ns, 80);
  EXPECT_EQ(nodes[0].tier.write_ns, 0);
  EXPECT_EQ(nodes[0].tier.origins.write_ns.obtained, Obtained::kUnsaid);
}

TEST(MemoryNodes, DistancesAreByNodeNotByPlace) {
  FakeRoot root;
  root.online("0,2").node(0, "0", 1000, "10 28").node(2, "", 2000, "28 10");
  const auto nodes = read_memory_nodes(root.path());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].distance.at(0), 28);
  EXPECT_EQ(nodes[1].distance.at(2), 10);
}

// Two sockets with a CXL node each: tiers of two nodes, or each node a tier.
TEST(MachineOf, GroupsByRankOrByNode) {
  FakeRoot root;
  root.online("0-3").tier(4, "0-1").tier(22, "2-3");
  root.node(0, "0-1", 1000, "10 20 14 24").hmat(0, 80, 1000);
  root.node(1, "2-3", 1000, "20 10 24 14").hmat(1, 80, 1000);
  root.node(2, "", 4000, "14 24 10 26").hmat(2, 250, 300);
  root.node(3, "", 4000, "24 14 26 10").hmat(3, 250, 300);
  const auto nodes = read_memory_nodes(root.path());

  const auto grouped = machine_of(root.path(), nodes, Grouping::kByRank);
  ASSERT_TRUE(grouped);
  EXPECT_THAT(names(*grouped), ElementsAre("dram", "slow"));
  EXPECT_EQ(grouped->tiers[1].nodes, (std::vector<int>{2, 3}));
  EXPECT_EQ(grouped->tiers[1].capacity, Bytes{8000} * 1024);
  EXPECT_EQ(grouped->tiers[1].read_ns, 250);
  EXPECT_EQ(grouped->tiers[1].read_bytes_per_s, 600 * kMiB);
  EXPECT_EQ(grouped->cpus, 4);

  const auto apart = machine_of(root.path(), nodes, Grouping::kByNode);
  ASSERT_TRUE(apart);
  EXPECT_THAT(names(*apart), ElementsAre("dram0", "dram1", "slow", "slow2"));
  EXPECT_TRUE(Machine::from_json(apart->to_json()));
}

// A kernel that holds all device memory for slow has the package's own memory
// below DRAM, although it is faster in every respect.
TEST(MachineOf, FiguresWinOverRanksThatTheyContradict) {
  FakeRoot root;
  root.online("0-2").tier(4, "0").tier(22, "1-2");
  root.node(0, "0", 1000, "10 20 20").hmat(0, 100, 1000);
  root.node(1, "", 500, "20 10 20").hmat(1, 90, 4000);
  root.node(2, "", 5000, "20 20 10").hmat(2, 300, 100);
  const auto nodes = read_memory_nodes(root.path());
  const auto machine = machine_of(root.path(), nodes, Grouping::kByNode);
  ASSERT_TRUE(machine);
  EXPECT_THAT(names(*machine), ElementsAre("fast", "dram", "slow"));
  EXPECT_EQ(machine->tiers[0].nodes, std::vector<int>{1});
  EXPECT_TRUE(Machine::from_json(machine->to_json()));
}

TEST(CacheBytes, CountsASharedCacheOnceAndNoInstructions) {
  FakeRoot root;
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string own = std::to_string(cpu);
    root.cache(cpu, 0, 1, "Data", "32K", own);
    root.cache(cpu, 1, 1, "Instruction", "32K", own);
    root.cache(cpu, 2, 2, "Unified", "1M", own);
    root.cache(cpu, 3, 3, "Unified", "16384K", cpu < 2 ? "0-1" : "2-3");
  }
  constexpr Bytes kOwn = (32 + 1024) * 1024;
  constexpr Bytes kShared = Bytes{16} << 20;
  EXPECT_EQ(cache_bytes(root.path(), std::vector{0}), kOwn + kShared);
  EXPECT_EQ(cache_bytes(root.path(), std::vector{0, 1}), 2 * kOwn + kShared);
  EXPECT_EQ(cache_bytes(root.path(), std::vector{0, 1, 2, 3}),
            4 * kOwn + 2 * kShared);
  EXPECT_EQ(cache_bytes(root.path(), std::vector{9}), 0u);
}

}  // namespace
}  // namespace thermocline
