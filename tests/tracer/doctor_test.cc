#include "tracer/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/tracer/observed_job.h"

namespace thermocline {
namespace {

using State = Finding::State;

// A machine made of files.
class Doctor : public testing::Test {
 protected:
  Doctor() {
    patient_.root = scratch_path("patient");
    std::filesystem::remove_all(patient_.root);
    patient_.sample_self = [this](const std::string& source) -> Status {
      asked_.push_back(source);
      if (!refusal_.empty()) return permission(refusal_);
      return {};
    };
    patient_.tracks_writes = [this] { return soft_dirty_; };
    file("/proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n");
    file("/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
    file("/proc/sys/kernel/perf_event_paranoid", "2\n");
    file("/proc/cpuinfo",
         "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some Xeon\n"
         "flags\t\t: fpu\n\nprocessor\t: 1\n");
    file("/sys/devices/system/node/online", "0\n");
    node(0, "0-1");
  }
  ~Doctor() override { std::filesystem::remove_all(patient_.root); }

  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path at = patient_.root + path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  void node(int id, const std::string& cpus) {
    const auto path = "/sys/devices/system/node/node" + std::to_string(id);
    file(path + "/cpulist", cpus + "\n");
    file(path + "/meminfo", "Node 0 MemTotal: 16777216 kB\n");
    file(path + "/distance", id == 0 ? "10 20\n" : "20 10\n");
  }
  void two_nodes() {
    file("/sys/devices/system/node/online", "0-1\n");
    node(1, "");
  }
  // The finding of that name, which must be there, and only once.
  Finding find(const std::string& name) {
    const auto all = examine(patient_);
    Finding found;
    if (!all) {
      ADD_FAILURE() << all.error().message;
      return found;
    }
    int count = 0;
    for (const auto& finding : all->findings) {
      if (finding.name != name) continue;
      found = finding;
      ++count;
    }
    EXPECT_EQ(count, 1) << name;
    return found;
  }
  void expect(const std::string& name, State state, const std::string& found,
              const std::string& remedy = "") {
    const auto finding = find(name);
    EXPECT_EQ(finding.state, state) << name << ": " << finding.found;
    EXPECT_NE(finding.found.find(found), std::string::npos) << finding.found;
    EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << finding.remedy;
  }

  Patient patient_;
  std::vector<std::string> asked_;
  std::string refusal_;
  bool soft_dirty_ = true;
};

TEST_F(Doctor, WhatIsMissingHasAConsequenceAndARemedy) {
  const auto all = examine(patient_);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->host, "Linux 6.1.0-13-amd64, Some Xeon, 2 CPUs");
  EXPECT_GE(all->findings.size(), 13u);
  for (const auto& finding : all->findings) {
    const bool good = finding.state == State::kGood;
    EXPECT_FALSE(finding.topic.empty()) << finding.name;
    EXPECT_FALSE(finding.found.empty()) << finding.name;
    EXPECT_EQ(finding.consequence.empty(), good) << finding.name;
    EXPECT_EQ(finding.remedy.empty(), good) << finding.name;
  }
}

TEST_F(Doctor, ATreeWithoutProcCannotBeExamined) {
  patient_.root += "/none";
  const auto all = examine(patient_);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, Error::Code::kUnsupported);
  EXPECT_NE(all.error().message.find("mount"), std::string::npos);
}

TEST_F(Doctor, AnEmptyProcIsStillExamined) {
  std::filesystem::remove_all(patient_.root);
  file("/proc/self/status", "");
  soft_dirty_ = false;
  refusal_ = "not allowed";
  const auto all = examine(patient_);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->host, "Linux (unknown), unknown processor, 0 CPUs");
  expect("tiers", State::kMissing, "no NUMA node");
  expect("kernel", State::kPart, "does not tell");
  expect("soft-dirty bits", State::kMissing, "", "CONFIG_MEM_SOFT_DIRTY");
}

TEST_F(Doctor, ThePmuAndItsRemedy) {
  expect("PMU", State::kMissing, "without one", "PEBS");
  file("/proc/cpuinfo",
       "vendor_id\t: GenuineIntel\nflags\t: fpu hypervisor x\n");
  expect("PMU", State::kMissing, "a virtual machine", "hypervisor");
  file("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
  expect("PMU", State::kMissing, "ibs_op");
  file("/sys/bus/event_source/devices/ibs_op/type", "11\n");
  patient_.pmu_model = "AMD64 Fam19h Zen4";
  expect("PMU", State::kGood, "Zen4");
  expect("events", State::kGood, "ibs_op");
  EXPECT_NE(std::find(asked_.begin(), asked_.end(), "perf"), asked_.end());
  refusal_ = "kernel.perf_event_paranoid is 2; needs <= 1";
  expect("events", State::kMissing, "ibs_op", "needs <= 1");
  expect("kernel events", State::kMissing, "", "needs <= 1");
}

TEST_F(Doctor, WhoMayDoWhat) {
  expect("paranoid level", State::kGood, "does not bind us");
  expect("capabilities", State::kGood, "PERFMON, SYS_PTRACE, IPC_LOCK");
  file("/proc/self/status", "Uid:\t1000\t1000\nCapEff:\t0000000000000000\n");
  expect("paranoid level", State::kPart, "is 2", "perf_event_paranoid=1");
  expect("capabilities", State::kMissing, "without PERFMON, SYS_PTRACE",
         "setcap cap_perfmon");
  file("/proc/sys/kernel/perf_event_paranoid", "3\n");
  expect("paranoid level", State::kMissing, "is 3", "perf_event_paranoid=1");
  file("/proc/sys/kernel/perf_event_paranoid", "1\n");
  expect("paranoid level", State::kGood, "is 1");
  file("/proc/self/status", "Uid:\t1000\t1000\nCapEff:\t0000004000000000\n");
  expect("capabilities", State::kPart, "without SYS_PTRACE, IPC_LOCK");
  std::filesystem::remove(patient_.root +
                          "/proc/sys/kernel/perf_event_paranoid");
  expect("paranoid level", State::kMissing, "no perf events");
}

TEST_F(Doctor, MemoryControllers) {
  expect("memory controllers", State::kPart, "no uncore_imc", "amd_uncore");
  const std::string pmu = "/sys/bus/event_source/devices/uncore_imc_1/";
  file(pmu + "type", "14\n");
  file(pmu + "cpumask", "0,8\n");
  file(pmu + "format/event", "config:0-7\n");
  file(pmu + "events/cas_count_read", "event=0x04\n");
  expect("memory controllers", State::kGood, "1 (uncore_imc_1, ...) of 2");
  file("/proc/self/status", "Uid:\t1000\t1000\nCapEff:\t0000000000000000\n");
  expect("memory controllers", State::kPart, "perf_event_paranoid is 2",
         "perf_event_paranoid=0; or run as root, or: setcap cap_perfmon");
  file("/proc/sys/kernel/perf_event_paranoid", "0\n");
  expect("memory controllers", State::kGood, "uncore_imc_1");
}

TEST_F(Doctor, OldKernels) {
  expect("kernel", State::kGood, "6.1.0");
  file("/proc/sys/kernel/osrelease", "4.19.0-25\n");
  expect("kernel", State::kPart, "4.19.0", "5.10");
  file("/proc/sys/kernel/osrelease", "5.10.0\n");
  expect("kernel", State::kGood, "5.10.0");
}

TEST_F(Doctor, TiersAndWhoElseMovesPages) {
  expect("tiers", State::kPart, "one: dram 16.0 GiB (node 0)", "daxctl");
  two_nodes();
  expect("tiers", State::kGood, "dram 16.0 GiB (node 0), slow 16.0 GiB");
  expect("latencies", State::kPart, "HMAT", "thermocline probe");
  for (const std::string id : {"0", "1"}) {
    const auto hmat =
        "/sys/devices/system/node/node" + id + "/access0/initiators";
    file(hmat + "/read_latency", "100\n");
    file(hmat + "/read_bandwidth", "20000\n");
  }
  expect("latencies", State::kGood, "HMAT");
  expect("NUMA balancing", State::kGood, "not in this kernel");
  file("/proc/sys/kernel/numa_balancing", "0\n");
  expect("NUMA balancing", State::kGood, "off");
  file("/proc/sys/kernel/numa_balancing", "2\n");
  expect("NUMA balancing", State::kPart, "is 2", "numa_balancing=0");
  file("/sys/kernel/mm/numa/demotion_enabled", "true\n");
  expect("demotion", State::kGood, "on");
}

TEST_F(Doctor, DeviceMemoryThatIsNoNodeYet) {
  expect("device memory", State::kMissing, "no persistent memory");
  file("/sys/bus/nd/devices/namespace0.0/size", "17179869184\n");
  expect("device memory", State::kGood, "namespace0.0");
  file("/sys/bus/dax/devices/dax1.0/size", "17179869184\n");
  std::filesystem::create_symlink(
      "../../bus/dax/drivers/device_dax",
      patient_.root + "/sys/bus/dax/devices/dax1.0/driver");
  expect("device memory", State::kPart, "dax1.0 (16.0 GiB) is no node",
         "--mode=system-ram dax1.0");
  std::filesystem::remove(patient_.root + "/sys/bus/dax/devices/dax1.0/driver");
  std::filesystem::create_symlink(
      "../../bus/dax/drivers/kmem",
      patient_.root + "/sys/bus/dax/devices/dax1.0/driver");
  expect("device memory", State::kGood, "dax1.0");
}

TEST_F(Doctor, Trackers) {
  expect("idle page bitmap", State::kMissing, "", "CONFIG_IDLE_PAGE_TRACKING");
  expect("DAMON", State::kMissing, "", "CONFIG_DAMON_SYSFS");
  expect("soft-dirty bits", State::kGood, "pagemap");
  file("/sys/kernel/mm/page_idle/bitmap", "");
  const std::string damon = "/sys/kernel/mm/damon/admin/kdamonds/";
  file(damon + "nr_kdamonds", "0\n");
  file(damon + "0/contexts/nr_contexts", "0\n");
  expect("idle page bitmap", State::kGood, "page_idle");
  expect("DAMON", State::kGood, "kdamonds");
  file(damon + "0/contexts/0/avail_operations", "paddr\n");
  expect("DAMON", State::kPart, "there", "CONFIG_DAMON_VADDR");
  file(damon + "nr_kdamonds", "1\n");  // another's
  expect("DAMON", State::kPart, "there", "CONFIG_DAMON_VADDR");
  file(damon + "0/contexts/0/avail_operations", "vaddr\npaddr\n");
  expect("DAMON", State::kPart, "there", "in use by another program");
  file("/proc/self/status", "Uid:\t1000\t1000\nCapEff:\t0\n");
  expect("idle page bitmap", State::kPart, "root only", "run as root");
  expect("DAMON", State::kPart, "root only", "run as root");
}

TEST_F(Doctor, LibTorchIsFoundByItsFiles) {
  expect("LibTorch", State::kMissing, "libtorch_cpu.so", "libtorch-dev");
  expect("PyTorch", State::kPart, "", "python3-torch");
  const std::string folder = "/usr/lib/x86_64-linux-gnu/";
  file(folder + "libtorch_cpu.so", "");
  file(folder + "libtorch_cpu.so.1.13", "");
  file("/usr/lib/python3/dist-packages/torch/__init__.py", "");
  expect("LibTorch", State::kGood, folder + "libtorch_cpu.so.1.13");
  expect("PyTorch", State::kGood, "dist-packages/torch");
}

TEST(DoctorLive, LooksAtThisMachine) {
  const auto all = examine(this_machine());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->host.rfind("Linux ", 0), 0u);
  for (const auto& finding : all->findings) {
    EXPECT_FALSE(finding.found.empty()) << finding.name;
    EXPECT_EQ(finding.state == State::kGood, finding.remedy.empty())
        << finding.name;
  }
}

}  // namespace
}  // namespace thermocline
