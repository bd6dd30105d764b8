#include "daemon/probe_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cgroup_memory.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/estimator/fake_root.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes kMiB = Bytes{1} << 20;

// Nodes 0 and 1 with two CPUs each, node 2 without, nearest to node 1. Caches
// of 16 MiB a socket.
class ProbePlan : public testing::Test {
 protected:
  ProbePlan() {
    root_.online("0-3");
    root_.node(0, "0-1", 1 << 20, "10 20 30 40");
    root_.node(1, "2-3", 1 << 20, "20 10 14 40");
    root_.node(2, "", 1 << 20, "30 14 10 40");
    root_.node(3, "4", 0, "40 40 40 10");
    for (int cpu = 0; cpu < 4; ++cpu) {
      root_.cache(cpu, 0, 3, "Unified", "16M", cpu < 2 ? "0-1" : "2-3");
    }
    for (int node = 0; node < 3; ++node) set_free(node, 1024 * kMiB);
  }
  void set_free(int node, Bytes bytes) {
    kernel_.add_node(node, 1024 * kMiB, bytes);
  }
  Result<NodePlan> plan(int node) {
    return plan_node(kernel_, root_.path(), read_memory_nodes(root_.path()),
                     node, allowed_, options_);
  }
  // What the message of a refusal must name.
  void expect_refused(int node, Error::Code code,
                      const std::vector<std::string>& naming) {
    const auto refused = plan(node);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code);
    for (const auto& name : naming) {
      EXPECT_THAT(refused.error().message, HasSubstr(name));
    }
  }
  FakeRoot root_;
  ScriptedKernel kernel_;
  std::vector<int> allowed_{0, 1, 2, 3, 4};
  ProbeOptions options_;
};

TEST_F(ProbePlan, GoesThroughFourTimesTheCaches) {
  const auto local = plan(0);
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_THAT(local->cpus, ElementsAre(0, 1));
  EXPECT_EQ(local->caches, 16 * kMiB);
  EXPECT_EQ(local->bytes, 64 * kMiB);
  EXPECT_EQ(local->least, 32 * kMiB);
  EXPECT_THAT(local->notes, IsEmpty());
  options_.quick = true;
  EXPECT_EQ(plan(0)->bytes, 32 * kMiB);
  EXPECT_EQ(plan(0)->least, 32 * kMiB);
}

TEST_F(ProbePlan, NodeWithoutCpusIsMeasuredFromTheNearest) {
  EXPECT_THAT(plan(2)->cpus, ElementsAre(2, 3));
  EXPECT_THAT(plan(2)->notes, IsEmpty());
}

TEST_F(ProbePlan, SaysWhenANodesOwnCpusMayNotBeUsed) {
  allowed_ = {3};
  const auto far = plan(0);
  EXPECT_THAT(far->cpus, ElementsAre(3));
  EXPECT_THAT(far->notes, ElementsAre(HasSubstr("CPUs of node 1")));
}

TEST_F(ProbePlan, ThreadsAreAtMostOneACpu) {
  options_.threads = 1;
  EXPECT_THAT(plan(0)->cpus, ElementsAre(0));
  options_.threads = 3;
  expect_refused(0, Error::Code::kInvalid, {"--threads 3", "node 0", "2 CPUs"});
}

TEST_F(ProbePlan, LittleFreeMemoryMeansLessOfItWithAWord) {
  set_free(0, 100 * kMiB);
  const auto small = plan(0);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->bytes, 50 * kMiB);  // of 100 and some page cache, half
  EXPECT_THAT(small->notes, ElementsAre(HasSubstr("wanted 64.0 MiB")));
}

TEST_F(ProbePlan, RefusesWhenCachesWouldBeMeasured) {
  set_free(2, 40 * kMiB);
  expect_refused(
      2, Error::Code::kUnsupported,
      {"node 2 can spare 20.2 MiB", "32.0 MiB are needed", "--nodes"});
}

TEST_F(ProbePlan, SizeIsObeyedOrRefused) {
  options_.size = 200 * kMiB;
  EXPECT_EQ(plan(0)->bytes, 200 * kMiB);
  EXPECT_EQ(plan(0)->least, 200 * kMiB);
  options_.size = 8 * kMiB;
  EXPECT_THAT(plan(0)->notes, ElementsAre(HasSubstr("less than twice")));
  options_.size = 600 * kMiB;
  expect_refused(0, Error::Code::kUnsupported, {"--size 600.0 MiB", "node 0"});
}

TEST_F(ProbePlan, UnknownCachesAreAssumedAndSaid) {
  allowed_ = {4};  // of whose caches the kernel says nothing
  const auto blind = plan(0);
  EXPECT_EQ(blind->bytes, 128 * kMiB);
  EXPECT_THAT(blind->notes,
              ElementsAre(HasSubstr("node 3"), HasSubstr("taken as 32.0 MiB")));
}

TEST_F(ProbePlan, KeepsBelowTheLimitOfItsCgroups) {
  kernel_.files["proc/self/cgroup"] = "1:cpu:/x\n0::/jobs/probe\n";
  const std::string base = "sys/fs/cgroup/jobs";
  kernel_.files[base + "/probe/memory.max"] = "max\n";
  EXPECT_EQ(cgroup_room(kernel_), std::nullopt);
  kernel_.files[base + "/memory.max"] = std::to_string(90 * kMiB);
  kernel_.files[base + "/memory.current"] = std::to_string(10 * kMiB);
  EXPECT_EQ(cgroup_room(kernel_), 80 * kMiB);
  EXPECT_EQ(plan(0)->bytes, 40 * kMiB);
  kernel_.files[base + "/memory.current"] = std::to_string(95 * kMiB);
  EXPECT_EQ(cgroup_room(kernel_), 0u);
  expect_refused(0, Error::Code::kUnsupported, {"can spare 0 B"});
}

TEST_F(ProbePlan, ChoosesNodesThatHaveMemory) {
  const auto nodes = read_memory_nodes(root_.path());
  EXPECT_THAT(*chosen_nodes(nodes, options_), ElementsAre(0, 1, 2));
  options_.nodes = {2, 0, 2};
  EXPECT_THAT(*chosen_nodes(nodes, options_), ElementsAre(0, 2));
  options_.nodes = {3};
  const auto none = chosen_nodes(nodes, options_);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("node 3"));
  EXPECT_THAT(none.error().message, HasSubstr("0, 1, 2"));
  EXPECT_EQ(chosen_nodes({}, {}).error().code, Error::Code::kUnsupported);
}

}  // namespace
}  // namespace thermocline
