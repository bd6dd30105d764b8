#include "tracer/sampling_rights.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/tracer/observed_job.h"
#include "tracer/perf_attributes.h"
#include "tracer/perf_source.h"

namespace thermocline {
namespace {

SamplingRights nobody() {
  SamplingRights rights;
  rights.known = true;
  rights.paranoid = 2;
  rights.uid = rights.target_uid = 65534;
  return rights;
}

std::string why(int error, const SamplingRights& rights, bool kernel = false,
                bool whole_cpus = false) {
  PerfEvent event;
  event.name = "loads";
  event.any_mode = kernel;
  return sampling_error(error, event, "process 17", rights, whole_cpus).message;
}

TEST(SamplingRights, TheSettingThatForbidsIsNamed) {
  auto rights = nobody();
  rights.paranoid = 3;
  EXPECT_EQ(why(EACCES, rights),
            "sampling loads in process 17: kernel.perf_event_paranoid is 3; "
            "needs <= 2 for one's own processes (sysctl "
            "kernel.perf_event_paranoid=2), or CAP_PERFMON (root; setcap "
            "cap_perfmon+ep on this program)");
  rights.paranoid = 2;
  EXPECT_NE(why(EACCES, rights, true).find("is 2; needs <= 1"),
            std::string::npos);
  rights.paranoid = 1;
  EXPECT_NE(why(EACCES, rights, false, true).find("is 1; needs <= 0 for whole"),
            std::string::npos);
}

TEST(SamplingRights, AnotherUsersProcessIsNamed) {
  auto rights = nobody();
  rights.target_uid = 1000;
  EXPECT_NE(why(EACCES, rights).find("belongs to user 1000, we are user 65534"),
            std::string::npos);
}

TEST(SamplingRights, APrivilegedRefusalIsAContainers) {
  auto rights = nobody();
  rights.capabilities = 1ull << 38;
  EXPECT_NE(why(EPERM, rights).find("seccomp"), std::string::npos);
}

TEST(SamplingRights, EveryRefusalHasARemedy) {
  const auto has = [](int error, const std::string& remedy) {
    const auto text = why(error, nobody());
    EXPECT_NE(text.find(remedy), std::string::npos) << text;
  };
  has(EMFILE, "ulimit -n");
  has(ENFILE, "fs.file-max");
  has(ENOSPC, "fewer events");
  has(EBUSY, "fewer events");
  has(ENOSYS, "--source none");
  has(ENODATA, "--source none");
  has(EINVAL, "--source none");
  has(EACCES, "CAP_PERFMON");
  has(ESRCH, "no process 17");
  has(ESRCH, "pgrep");
  EXPECT_NE(why(EBADF, nobody()).find("not a cgroup"), std::string::npos);
}

TEST(SamplingRights, AreReadFromTheKernelsFiles) {
  const auto root = scratch_path("rights");
  const auto file = [&](const std::string& path, const std::string& text) {
    const std::filesystem::path at = root + path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  };
  EXPECT_FALSE(sampling_rights(root, 17).known);
  file("/proc/sys/kernel/perf_event_paranoid", "-1\n");
  file("/proc/self/status", "Uid:\t7\t8\t9\t9\nCapEff:\t0000004000080000\n");
  file("/proc/17/status", "Name:\tx\nUid:\t5\t5\t5\t5\n");
  const auto rights = sampling_rights(root, 17);
  EXPECT_TRUE(rights.known);
  EXPECT_EQ(rights.paranoid, -1);
  EXPECT_EQ(rights.uid, 7u);
  EXPECT_EQ(rights.target_uid, 5u);
  EXPECT_TRUE(rights.has(Capability::kPerfmon));
  EXPECT_TRUE(rights.has(Capability::kSysPtrace));
  EXPECT_FALSE(rights.has(Capability::kSysNice));
  EXPECT_TRUE(rights.privileged());
  std::filesystem::remove_all(root);
}

// What is left of the attributes after every refusal, as text.
std::string after(const perf_event_attr& attr) {
  std::string text = "precise " + std::to_string(attr.precise_ip);
  if (attr.sample_type & PERF_SAMPLE_PHYS_ADDR) text += " phys";
  if (attr.read_format & kPerfFormatLost) text += " lost";
  if (attr.inherit_thread) text += " threads";
  if (attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) text += " weights";
  if (attr.sample_type & PERF_SAMPLE_WEIGHT) text += " weight";
  return text;
}

TEST(PerfAttributes, DegradeOneThingAtATime) {
  PerfEvent event;
  event.precise = 3;
  event.least_precise = 1;
  auto attr = sampling_attributes(event, 4001);
  EXPECT_EQ(attr.sample_period, 4001u);
  EXPECT_EQ(after(attr), "precise 3 phys lost threads weights");
  EXPECT_TRUE(degrade(attr, event, EACCES));
  EXPECT_EQ(after(attr), "precise 3 lost threads weights");
  EXPECT_FALSE(degrade(attr, event, EACCES)) << "it is not the addresses";
  for (const std::string expected :
       {"precise 2 lost threads weights", "precise 1 lost threads weights",
        "precise 3 threads weights", "precise 2 threads weights",
        "precise 1 threads weights", "precise 3 weights", "precise 2 weights",
        "precise 1 weights", "precise 3 weight", "precise 2 weight",
        "precise 1 weight"}) {
    ASSERT_TRUE(degrade(attr, event, EINVAL));
    EXPECT_EQ(after(attr), expected);
  }
  EXPECT_FALSE(degrade(attr, event, EINVAL)) << "below 1 is no address";
  EXPECT_FALSE(degrade(attr, event, EMFILE));
}

TEST(PerfAttributes, AnAuxiliaryLeaderOnlyCounts) {
  PerfEvent event;
  event.config = 0x1cd;
  event.config1 = 30;
  event.precise = 2;
  const auto attr = sampling_attributes(event, 4001);
  const auto leader = auxiliary_attributes(attr, 0x8203);
  EXPECT_EQ(leader.config, 0x8203u);
  EXPECT_EQ(leader.config1, 0u);
  EXPECT_EQ(leader.sample_period, 0u);
  EXPECT_EQ(leader.precise_ip, 0u) << "the kernel refuses a precise counter";
  EXPECT_EQ(leader.clockid, attr.clockid) << "or another clock in a group";
}

TEST(PerfAttributes, SoftwareEventsKeepTheirPeriodUntold) {
  PerfEvent event;
  event.type = PERF_TYPE_RAW;
  EXPECT_NE(sampling_attributes(event, 7).sample_type & PERF_SAMPLE_PERIOD, 0u);
  for (const std::uint32_t type :
       {PERF_TYPE_SOFTWARE, PERF_TYPE_BREAKPOINT, PERF_TYPE_TRACEPOINT}) {
    event.type = type;
    EXPECT_EQ(sampling_attributes(event, 7).sample_type & PERF_SAMPLE_PERIOD,
              0u);
  }
}

TEST(PerfAttributes, TheKernelIsLeftOutWhereThatIsPossible) {
  PerfEvent event;
  EXPECT_EQ(sampling_attributes(event, 1).exclude_kernel, 1u);
  event.any_mode = true;
  EXPECT_EQ(sampling_attributes(event, 1).exclude_kernel, 0u);
}

TEST(PerfSource, WordsAreEventsOrSettings) {
  const auto source =
      parse_perf_source("budget=0.5%,page-faults@7,ibs_op,budget=2");
  ASSERT_TRUE(source);
  EXPECT_EQ(source->events, "page-faults@7,ibs_op");
  EXPECT_DOUBLE_EQ(source->share, 0.02);
  EXPECT_EQ(source->cgroup, "");
  EXPECT_DOUBLE_EQ(parse_perf_source("")->share, 0.01);
  for (const std::string wrong :
       {"budget=", "budget=0", "budget=-1%", "budget=101%", "budget=1%%",
        "budget=nan", "budget=inf", "budget=x"}) {
    const auto bad = parse_perf_source(wrong);
    ASSERT_FALSE(bad) << wrong;
    EXPECT_NE(bad.error().message.find("above 0 and up to 100"),
              std::string::npos);
  }
}

TEST(PerfSource, SequencesMayBeTurnedOff) {
  EXPECT_FALSE(parse_perf_source("")->sequences);
  EXPECT_TRUE(parse_perf_source("sequences=on")->sequences);
  const auto off = parse_perf_source("sequences=off,budget=2");
  ASSERT_TRUE(off);
  EXPECT_FALSE(off->sequences);
  EXPECT_EQ(off->events, "");
  EXPECT_FALSE(parse_perf_source("sequences=0"));
}

TEST(PerfSource, CgroupsAreFoundByPathOrDirectory) {
  const auto mounts = scratch_path("cgroups");
  std::filesystem::create_directories(mounts + "/unified/job");
  std::ofstream(mounts + "/unified/job/cgroup.procs") << "";
  const auto whole = mounts + "/unified/job";
  EXPECT_EQ(parse_perf_source("cgroup=/job", mounts)->cgroup,
            mounts + "/unified//job");
  EXPECT_EQ(parse_perf_source("cgroup=" + whole, mounts)->cgroup, whole);
  const auto missing = parse_perf_source("cgroup=/none", mounts);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/proc/PID/cgroup"),
            std::string::npos);
  std::filesystem::remove_all(mounts);
}

}  // namespace
}  // namespace thermocline
