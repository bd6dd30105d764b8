#include "daemon/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numa.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/bound_memory.h"
#include "daemon/pinned_threads.h"
#include "daemon/probe_report.h"
#include "tests/daemon/scripted_kernel.h"
#include "tests/estimator/fake_root.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes kMiB = Bytes{1} << 20;

TEST(ProbeSummary, IsTheMedianAndHalfTheSpan) {
  EXPECT_EQ(summary({100}).median, 100);
  EXPECT_EQ(summary({100}).spread, 0);
  const auto odd = summary({130, 100, 90});
  EXPECT_EQ(odd.median, 100);
  EXPECT_DOUBLE_EQ(odd.spread, 0.2);
  EXPECT_EQ(summary({4, 1, 3, 2}).median, 2.5);
}

NodeFigures figures(double ordinary, std::optional<Measured> around) {
  return {{100, 0.01},      64 * kMiB, 128 * kMiB, {2e10, 0.02},
          {ordinary, 0.03}, around,    1};
}

TEST(ProbeFigures, TheBetterStoresCountAndAreSaid) {
  const NodePlan plan{0, {0, 1}, 256 * kMiB, 32 * kMiB, {}};
  Tier tier;
  set_figures(plan, figures(1e10, Measured{1.5e10, 0.04}), tier);
  EXPECT_EQ(tier.write_bytes_per_s, 1.5e10);
  EXPECT_EQ(tier.origins.write_bytes_per_s,
            (Origin{Obtained::kMeasured, 0.04,
                    "non-temporal stores, 2 threads, 128.0 MiB"}));
  EXPECT_EQ(
      tier.origins.read_ns,
      (Origin{Obtained::kMeasured, 0.01, "pointer chase, 1 thread, 64.0 MiB"}));
  EXPECT_EQ(tier.write_ns, 100);
  EXPECT_EQ(tier.origins.write_ns.obtained, Obtained::kAssumed);
  for (const auto& around :
       {std::optional<Measured>(Measured{5e9, 0}), std::optional<Measured>()}) {
    set_figures(plan, figures(1e10, around), tier);
    EXPECT_EQ(tier.write_bytes_per_s, 1e10);
    EXPECT_THAT(tier.origins.write_bytes_per_s.how,
                HasSubstr("ordinary stores"));
  }
}

// Whoever is given the file has nothing else to know it from.
TEST(ProbeFigures, WhatTheCachesHeldIsSaidInTheFile) {
  const NodePlan plan{0, {0, 1}, 128 * kMiB, 65 * kMiB, {}};
  Tier tier;
  set_figures(plan, figures(1e10, {}), tier);
  for (const auto* origin :
       {&tier.origins.read_ns, &tier.origins.read_bytes_per_s,
        &tier.origins.write_bytes_per_s}) {
    EXPECT_THAT(origin->how, HasSubstr("MiB, partly in the caches"));
  }
}

TEST(ProbeFigures, MoreThanAFactorOfTwoFromHmatIsADoubt) {
  Tier measured;
  Tier declared;
  measured.read_ns = 210;
  measured.read_bytes_per_s = 1e10;
  EXPECT_THAT(disagreements(measured, declared), IsEmpty());
  declared.read_ns = 106;
  declared.read_bytes_per_s = 1.9e10;
  EXPECT_THAT(disagreements(measured, declared), IsEmpty());
  declared.read_ns = 100;
  measured.origins.read_ns.obtained = Obtained::kMeasured;
  EXPECT_THAT(disagreements(measured, declared),
              ElementsAre("read_ns: measured 210 ns, but the firmware (HMAT) "
                          "says 100 ns"));
}

TEST(ProbeHmat, IsTheMachineThatFirmwareDeclares) {
  FakeRoot root;
  root.online("0-1").tier(4, "0").tier(22, "1");
  root.node(0, "0-3", 4096, "10 20").hmat(0, 80, 100000);
  root.node(1, "", 8192, "20 10").hmat(1, 250, 28000);
  const auto report = probe_hmat(root.path(), {});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->machine.tiers.size(), 2u);
  EXPECT_EQ(report->machine.tiers[1].read_ns, 250);
  EXPECT_EQ(report->machine.tiers[1].origins.write_ns.obtained,
            Obtained::kHmat);
  EXPECT_FALSE(report->machine.emulated);
  const auto json = to_json(*report);
  EXPECT_EQ(json["nodes"][1]["tier"], "slow");
  EXPECT_EQ(json["nodes"][1]["hmat"]["read_ns"], 250);
  EXPECT_TRUE(Machine::from_json(json["machine"].dump()));

  ProbeOptions one;
  one.nodes = {0};
  const auto fast = probe_hmat(root.path(), one);
  ASSERT_TRUE(fast);
  EXPECT_EQ(fast->machine.tiers.size(), 1u);
  EXPECT_EQ(fast->machine.cpus, 4);
}

TEST(ProbeHmat, NamesWhatIsMissingAndTheRemedy) {
  FakeRoot root;
  root.online("0-1");
  root.node(0, "0-3", 4096, "10 20").hmat(0, 80, 100000);
  root.node(1, "", 8192, "20 10").hmat(1, "read_latency", 250);
  const auto report = probe_hmat(root.path(), {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Error::Code::kUnsupported);
  const std::string& message = report.error().message;
  EXPECT_THAT(message, HasSubstr("write_latency, read_bandwidth, "
                                 "write_bandwidth of node 1"));
  EXPECT_THAT(message, testing::Not(HasSubstr("node 0 (")));
  EXPECT_THAT(message, HasSubstr("/sys/devices/system/node/node1/access0"));
  EXPECT_THAT(message, HasSubstr("--from measured"));
}

// The kernel's word where pages lie is what counts, not what it was told.
TEST(BoundMemory, IsRefusedWhenAPageLiesElsewhere) {
  auto memory = BoundMemory::map(kMiB, 0);
  if (!memory) GTEST_SKIP() << memory.error().message;
  const auto words = memory->words();
  EXPECT_EQ(words.size_bytes(), kMiB);
  std::fill(words.begin(), words.end(), 1);
  ScriptedKernel kernel;
  const auto start = reinterpret_cast<Address>(words.data());
  for (Bytes at = 0; at < kMiB; at += ScriptedKernel::kPage) {
    kernel.node_of[start + at] = 0;
  }
  EXPECT_TRUE(memory->verify(kernel));
  kernel.node_of[start + 8 * ScriptedKernel::kPage] = 1;
  const auto elsewhere = memory->verify(kernel);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message,
              HasSubstr("1 of 256 pages do not lie on node 0"));
  EXPECT_THAT(elsewhere.error().message, HasSubstr("node 1"));
  kernel.node_of.erase(start + 8 * ScriptedKernel::kPage);
  EXPECT_THAT(memory->verify(kernel).error().message, HasSubstr("nowhere"));
  // What is given back is nobody's business.
  memory->keep(8 * ScriptedKernel::kPage);
  EXPECT_EQ(memory->words().size_bytes(), 8 * ScriptedKernel::kPage);
  EXPECT_TRUE(memory->verify(kernel));
}

TEST(BoundMemory, OfANodeThatIsNotThereIsRefused) {
  const auto memory = BoundMemory::map(kMiB, 1000);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message, HasSubstr("node 1000"));
}

TEST(PinnedThreads, AllRunAtOnceAndCpusThatAreNotThereAreRefused) {
  const auto here = ::sched_getcpu();
  std::vector<int> ran(2);
  const std::vector<int> cpus{here, here};
  const auto seconds = run_together(
      cpus, [&](std::size_t i) { ran[i] = ::sched_getcpu() == here ? 1 : -1; });
  ASSERT_TRUE(seconds) << seconds.error().message;
  EXPECT_GE(seconds->seconds, 0);
  EXPECT_LE(seconds->ran, 1);
  EXPECT_THAT(ran, ElementsAre(1, 1));
  bool worked = false;
  const auto refused = run_together(std::vector<int>{here, 1 << 19},
                                    [&](std::size_t) { worked = true; });
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(std::to_string(1 << 19)));
  EXPECT_FALSE(worked);
}

class ProbeNode : public testing::Test {
 protected:
  ProbeNode() { options_.quick = true; }
  void SetUp() override {
    if (::numa_available() < 0) GTEST_SKIP() << "no NUMA in this kernel";
  }
  Result<NodeFigures> measure(double limit_s) {
    pace_.emplace(stop_, limit_s);
    pace_->plan(weight_of_node());
    return measure_node(*kernel_, plan_, options_, *pace_);
  }
  std::atomic<bool> stop_ = false;
  std::unique_ptr<Kernel> kernel_ = open_kernel();
  ProbeOptions options_;
  const NodePlan plan_{0, {::sched_getcpu()}, 4 * kMiB, kMiB, {}, 2 * kMiB};
  std::optional<ProbePace> pace_;
};

TEST_F(ProbeNode, ToldToStopItReportsNothing) {
  stop_ = true;
  const auto figures = measure(10);
  ASSERT_FALSE(figures);
  EXPECT_EQ(figures.error().code, Error::Code::kInterrupted);
}

TEST_F(ProbeNode, IsOfTheWeightThatItSaid) {
  options_.repeats = 2;
  const auto figures = measure(20);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(pace_->begun(), pace_->planned());
  EXPECT_EQ(figures->chased, 4 * kMiB);
  EXPECT_EQ(figures->through, 4 * kMiB);
  EXPECT_GT(figures->read_ns.median, 0);
  EXPECT_GT(figures->read_bytes_per_s.median, 0);
  EXPECT_GT(figures->write_bytes_per_s.median, 0);
}

// A Machine has all its figures, however little time there is.
TEST_F(ProbeNode, WithoutTimeEachIsMeasuredOnceInTheLeastMemory) {
  options_.repeats = 1000;
  const auto figures = measure(0);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_GE(figures->through, 2 * kMiB);
  EXPECT_GE(figures->chased, 2 * kMiB);
  EXPECT_EQ(figures->read_ns.repeats, 1);
  EXPECT_EQ(figures->read_bytes_per_s.repeats, 1);
  EXPECT_GT(figures->read_ns.median, 0);
  EXPECT_GT(figures->write_bytes_per_s.median, 0);
}

}  // namespace
}  // namespace thermocline
