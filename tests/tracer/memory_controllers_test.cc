// Memory controllers of machines made of files, and counters that are pipes.
#include "tracer/memory_controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/tracer/observed_job.h"
#include "tracer/line_counters.h"
#include "traces/whole_machine.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Two packages, each with a node of its own; node 2 is nearest to the second.
class Controllers : public testing::Test {
 protected:
  Controllers() {
    std::filesystem::remove_all(root_);
    file("/sys/devices/system/node/online", "0-2");
    for (int n = 0; n < 2; ++n) {
      const auto cpus = n == 0 ? "0-1" : "2-3";
      file("/sys/devices/system/node/node" + std::to_string(n) + "/cpulist",
           cpus);
    }
    file("/sys/devices/system/node/node2/cpulist", "");
    file("/sys/devices/system/node/node2/distance", "27 17 10");
    for (int cpu = 0; cpu < 4; ++cpu) {
      file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
               "/topology/physical_package_id",
           std::to_string(cpu / 2));
    }
  }
  ~Controllers() override {
    break_counters();
    std::filesystem::remove_all(root_);
  }
  void break_counters() {
    for (const int end : into_) close(end);
    into_.clear();
  }

  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = root_ + path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text << "\n";
  }
  void pmu(const std::string& name, int type,
           const std::map<std::string, std::string>& files) const {
    const auto folder = "/sys/bus/event_source/devices/" + name + "/";
    file(folder + "type", std::to_string(type));
    file(folder + "cpumask", "0,2");
    file(folder + "format/event", "config:0-7");
    for (const auto& [path, text] : files) file(folder + path, text);
  }
  void intel() const {
    pmu("uncore_imc_0", 14,
        {{"format/umask", "config:8-15"},
         {"events/cas_count_read", "event=0x04,umask=0x03"},
         {"events/cas_count_read.scale", "6.103515625e-5"},
         {"events/cas_count_read.unit", "MiB"},
         {"events/cas_count_write", "event=0x04,umask=0x0c"},
         {"events/cas_count_write.scale", "6.103515625e-5"},
         {"events/cas_count_write.unit", "MiB"}});
  }
  static Machine machine(const std::vector<std::vector<int>>& nodes,
                         bool last_durable = false) {
    Machine out;
    for (const auto& some : nodes) {
      Tier tier;
      tier.name = "tier" + std::to_string(out.tiers.size());
      tier.nodes = some;
      out.tiers.push_back(tier);
    }
    out.tiers.back().durable = last_durable;
    return out;
  }
  // A kernel that gives a pipe for each event, which `count` fills.
  Result<int> open(const ControllerEvent& event) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    opened_.push_back(event);
    into_.push_back(ends[1]);
    return ends[0];
  }
  void count(std::size_t event, std::uint64_t value, std::uint64_t enabled,
             std::uint64_t running) const {
    const std::array<std::uint64_t, 3> words{value, enabled, running};
    EXPECT_EQ(write(into_[event], words.data(), sizeof words),
              static_cast<ssize_t>(sizeof words));
  }
  Result<LineCounters> counters(const Machine& of) {
    return LineCounters::open(of, controller_events(root_),
                              [this](const auto& one) { return open(one); });
  }

  const std::string root_ = scratch_path("controllers");
  std::vector<ControllerEvent> opened_;
  std::vector<int> into_;
};

TEST_F(Controllers, OfIntelAreWhatTheKernelDescribes) {
  intel();
  const auto all = controller_events(root_);
  ASSERT_THAT(all, SizeIs(8));  // reads and writes, of both kinds, twice
  EXPECT_EQ(all[0], (ControllerEvent{
                        "uncore_imc_0", 14, 0x304, 0, false, false, {0}, 1}));
  EXPECT_EQ(all[1].cpu, 2);
  EXPECT_THAT(all[1].nodes, ElementsAre(1));
  EXPECT_EQ(all[2].config, 0xc04U);
  EXPECT_TRUE(all[2].write);
  EXPECT_TRUE(all[5].durable);
  EXPECT_THAT(all[5].nodes, ElementsAre(2)) << "nearest to the second package";
  EXPECT_THAT(all[4].nodes, ElementsAre()) << "the first has none";
}

TEST_F(Controllers, OfSmallIntelsCountInBytesOfTheirOwn) {
  pmu("uncore_imc", 20,
      {{"events/data_reads", "event=0x1"},
       {"events/data_reads.scale", "6.103515625e-5"},
       {"events/data_reads.unit", "MiB"},
       {"events/data_writes", "event=0x2"},
       {"events/data_writes.scale", "256"},
       {"events/data_writes.unit", "Bytes"}});
  const auto all = controller_events(root_);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].lines, 1);
  EXPECT_EQ(all[2].lines, 4);
  EXPECT_TRUE(all[2].write);
}

TEST_F(Controllers, OfAmdAreKnownByNumber) {
  pmu("amd_umc_3", 31, {{"format/rdwrmask", "config:8-9"}});
  const auto all = controller_events(root_);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(all[0].config, 0x10aU);
  EXPECT_EQ(all[2].config, 0x20aU);
  EXPECT_TRUE(all[2].write);
}

TEST_F(Controllers, ThatAreNotUnderstoodAreLeftOut) {
  EXPECT_THAT(controller_events(root_), SizeIs(0));
  pmu("uncore_imc_0", 14, {{"events/cas_count_read", "event=0x04,strange=1"}});
  EXPECT_THAT(controller_events(root_), SizeIs(0));
}

TEST_F(Controllers, LinesAreToldByTier) {
  intel();
  const auto all = counters(machine({{0}, {1}}));
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_THAT(opened_, SizeIs(4)) << "nothing of persistent memory";
  count(0, 1000, 500, 500);  // read on CPU 0
  count(1, 200, 500, 250);   // read on CPU 2; half of the time
  count(2, 30, 500, 500);    // written
  count(3, 7, 500, 0);       // never counted
  const auto read = all->read(42);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->time, 42);
  EXPECT_EQ(read->cpu, kWholeMachine);
  EXPECT_THAT(read->lines_read, ElementsAre(1000, 400));
  EXPECT_THAT(read->lines_written, ElementsAre(30, 0));
}

TEST_F(Controllers, CountPersistentMemoryBehindThem) {
  intel();
  const auto all = counters(machine({{0, 1}, {2}}, true));
  ASSERT_TRUE(all) << all.error().message;
  for (std::size_t i = 0; i < opened_.size(); ++i) count(i, 10, 1, 1);
  const auto read = all->read(1);
  ASSERT_TRUE(read);
  EXPECT_THAT(read->lines_read, ElementsAre(20, 10));
  EXPECT_THAT(read->lines_written, ElementsAre(20, 10));
}

TEST_F(Controllers, AllTiersAreToldOrNone) {
  const auto why = [this](const Machine& of) {
    opened_.clear();
    const auto all = counters(of);
    EXPECT_TRUE(all || opened_.empty()) << "nothing is opened in vain";
    return all ? std::string() : all.error().message;
  };
  EXPECT_THAT(why(machine({{0}, {1}})), HasSubstr("tier0 (node 0)"));
  intel();
  EXPECT_THAT(why(machine({{0, 1}, {2}})), HasSubstr("tier1 (node 2)"))
      << "memory on CXL, say";
  for (int cpu = 0; cpu < 4; ++cpu) {  // one package of two nodes
    file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
             "/topology/physical_package_id",
         "0");
  }
  EXPECT_THAT(why(machine({{0}, {1}})), HasSubstr("together"));
  EXPECT_THAT(why(machine({{0, 1}, {2}}, true)), "");
}

TEST_F(Controllers, ARefusalIsTold) {
  intel();
  const auto all = LineCounters::open(
      machine({{0}, {1}}), controller_events(root_),
      [](const auto&) -> Result<int> { return permission("not you"); });
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("not you"));
}

// Samples nothing.
class Idle final : public Sampler {
 public:
  Result<SampleBatch> read(std::chrono::milliseconds) override {
    return SampleBatch();
  }
  int descriptor() const override { return 17; }
  std::string clock() const override { return "monotonic"; }
  std::string kind() const override { return "perf"; }
  bool unattributed() const override { return true; }
};

TEST_F(Controllers, AreReadBesideASampler) {
  intel();
  auto all = counters(machine({{0}, {1}}));
  ASSERT_TRUE(all);
  Nanos now = 1'000'000'000;
  const auto both = with_lines(std::make_unique<Idle>(), *std::move(all),
                               [&] { return now; });
  EXPECT_EQ(both->descriptor(), 17);
  EXPECT_EQ(both->kind(), "perf");
  EXPECT_TRUE(both->unattributed());
  const auto read = [&] {
    auto batch = both->read(std::chrono::milliseconds(0));
    EXPECT_TRUE(batch);
    return batch->counters;
  };
  for (std::size_t i = 0; i < 4; ++i) count(i, 5, 1, 1);
  ASSERT_THAT(read(), SizeIs(1));
  now += 10'000'000;
  EXPECT_THAT(read(), SizeIs(0)) << "too soon";
  now += 10'000'000;
  for (std::size_t i = 0; i < 4; ++i) count(i, 9, 2, 2);
  const auto later = read();
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0].time, now);
  EXPECT_THAT(later[0].lines_read, ElementsAre(9, 9));
  break_counters();
  now += 20'000'000;
  EXPECT_THAT(read(), SizeIs(0)) << "sampling goes on";
}

}  // namespace
}  // namespace thermocline
