// Nodes from made-up trees of sysfs, and solvers divided among them.
#include "training/numa/solver_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/training/pool_folder.h"

namespace thermocline {
namespace {

class NumaNodes : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& cpus) {
    const auto node =
        std::filesystem::path(folder_.path()) / "devices/system/node" / name;
    std::filesystem::create_directories(node);
    std::ofstream(node / "cpulist") << cpus << "\n";
  }
  PoolFolder folder_;
};

using Cpus = std::vector<int>;

TEST_F(NumaNodes, AreThoseWithCpusThatWeMayUse) {
  add("node0", "0-3,8");
  add("node1", "4-7");
  add("node2", "");  // memory only: a DIMM
  add("node10", "9");
  add("power", "");
  const auto nodes =
      numa_nodes(folder_.path(), {0, 1, 2, 4, 5, 6, 7, 8, 9, 11});
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_EQ((*nodes)[0].cpus, (Cpus{0, 1, 2, 8}));
  EXPECT_EQ((*nodes)[1].cpus, (Cpus{4, 5, 6, 7}));
  EXPECT_EQ((*nodes)[2].id, 10);
}

TEST_F(NumaNodes, WithoutAnyThereIsOne) {
  const auto nodes = numa_nodes(folder_.path(), {2, 3});
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 1u);
  EXPECT_EQ((*nodes)[0].cpus, (Cpus{2, 3}));
  EXPECT_EQ(numa_nodes(folder_.path(), {}).error().code, Error::Code::kInvalid);
}

TEST_F(NumaNodes, ADamagedListIsSaid) {
  add("node0", "0-x");
  const auto nodes = numa_nodes(folder_.path(), {0});
  ASSERT_FALSE(nodes);
  EXPECT_EQ(nodes.error().code, Error::Code::kCorrupt);
  EXPECT_NE(nodes.error().message.find("node0"), std::string::npos);
}

TEST(CpuList, IsNumbersAndRanges) {
  EXPECT_EQ(*read_cpu_list("0-2,5\n"), (Cpus{0, 1, 2, 5}));
  EXPECT_EQ(*read_cpu_list(""), Cpus{});
  for (const char* bad :
       {"a", "1-", "-1", "3-1", "1,,2", "0-99999999", "1 2"}) {
    EXPECT_FALSE(read_cpu_list(bad)) << bad;
  }
}

std::vector<int> divided(const std::vector<int>& cpus, int solvers) {
  std::vector<NumaNode> nodes;
  for (const int count : cpus) {
    nodes.push_back({static_cast<int>(nodes.size()),
                     Cpus(static_cast<std::size_t>(count))});
  }
  std::vector<int> out(cpus.size(), 0);
  for (const auto& group : solver_groups(nodes, solvers)) {
    EXPECT_GT(group.solvers, 0);
    out[static_cast<std::size_t>(group.node.id)] = group.solvers;
  }
  return out;
}

TEST(SolverGroups, FollowTheCpus) {
  using Each = std::vector<int>;
  EXPECT_EQ(divided({8}, 3), Each{3});
  EXPECT_EQ(divided({8, 8}, 8), (Each{4, 4}));
  EXPECT_EQ(divided({8, 8}, 5), (Each{3, 2}));
  EXPECT_EQ(divided({12, 4}, 8), (Each{6, 2}));
  EXPECT_EQ(divided({4, 4, 4}, 2), (Each{1, 1, 0}));
  EXPECT_EQ(divided({1, 15}, 1), (Each{0, 1}));
  for (int solvers = 1; solvers < 40; ++solvers) {
    int sum = 0;
    for (const int one : divided({5, 7, 11, 2}, solvers)) sum += one;
    EXPECT_EQ(sum, solvers);
  }
}

}  // namespace
}  // namespace thermocline
