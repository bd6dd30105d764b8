#include "tracer/perf_events.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/tracer/observed_job.h"
#include "tracer/sampler.h"

namespace thermocline {
namespace {

// A machine's tree of event sources, in scratch files.
class PerfEvents : public testing::Test {
 protected:
  PerfEvents() : root_(scratch_path("machine")) {
    place_.cpuinfo = root_ + "/cpuinfo";
    place_.devices = root_ + "/devices";
    std::filesystem::create_directories(place_.devices);
  }
  ~PerfEvents() override { std::filesystem::remove_all(root_); }
  void vendor(const std::string& name) {
    std::ofstream(place_.cpuinfo)
        << "processor\t: 0\nvendor_id\t: " << name << "\n";
  }
  void file(const std::string& path, const std::string& text) {
    const std::filesystem::path at = place_.devices + "/" + path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  std::string root_;
  PerfPlace place_;
};

TEST_F(PerfEvents, NamesAndPeriods) {
  const auto events = perf_events("page-faults@7,context-switches", place_);
  ASSERT_TRUE(events) << events.error().message;
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ((*events)[0].type, 1u);  // PERF_TYPE_SOFTWARE
  EXPECT_EQ((*events)[0].config, 2u);
  EXPECT_EQ((*events)[0].period, 7u);
  EXPECT_EQ((*events)[1].period, 1u);
  EXPECT_EQ((*events)[1].config, 3u);
}

TEST_F(PerfEvents, BadNamesAndPeriodsAreNamed) {
  for (const std::string wrong :
       {"no-such-event", "page-faults@0", "page-faults@x", "page-faults@",
        ",page-faults", "page-faults@-1"}) {
    const auto events = perf_events(wrong, place_);
    ASSERT_FALSE(events) << wrong;
    EXPECT_EQ(events.error().code, Error::Code::kInvalid) << wrong;
    EXPECT_NE(events.error().message.find("event \""), std::string::npos);
  }
}

TEST_F(PerfEvents, AmdSamplesByIbs) {
  vendor("AuthenticAMD");
  EXPECT_EQ(perf_events("", place_).error().code, Error::Code::kUnsupported);
  file("ibs_op/type", "11\n");
  const auto events = perf_events("", place_);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].type, 11u);
  EXPECT_EQ((*events)[0].config, 1u << 19);
  EXPECT_EQ((*events)[0].period % 16, 0u) << "the kernel refuses others";
  EXPECT_TRUE((*events)[0].any_mode);
}

TEST_F(PerfEvents, IbsTakesMultiplesOf16) {
  vendor("AuthenticAMD");
  file("ibs_op/type", "11\n");
  EXPECT_TRUE(perf_events("ibs_op@160000", place_));
  const auto wrong = perf_events("ibs_op@100003", place_);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "event \"ibs_op@100003\": its period must be a multiple of 16");
}

TEST_F(PerfEvents, BreakpointsOnData) {
  const auto events = perf_events("mem:0x7f001000/8:w@3,mem:0x20", place_);
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ((*events)[0].type, 5u);  // PERF_TYPE_BREAKPOINT
  EXPECT_EQ((*events)[0].config1, 0x7f001000u);
  EXPECT_EQ((*events)[0].config2, 8u);
  EXPECT_EQ((*events)[0].breakpoint, 2u);  // HW_BREAKPOINT_W
  EXPECT_EQ((*events)[0].period, 3u);
  EXPECT_EQ((*events)[1].config2, 4u);
  EXPECT_EQ((*events)[1].breakpoint, 3u);
  for (const std::string wrong :
       {"mem:", "mem:0x", "mem:x", "mem:0x1001/4", "mem:0x1000/3",
        "mem:0x1000/0", "mem:0x1000/16", "mem:0x1000:x", "mem:0x1000:r",
        "mem:0x1000/", "mem:0x10000000000000000"}) {
    const auto bad = perf_events(wrong, place_);
    ASSERT_FALSE(bad) << wrong;
    EXPECT_EQ(bad.error().code, Error::Code::kInvalid) << wrong;
    EXPECT_NE(bad.error().message.find(wrong), std::string::npos);
  }
}

TEST_F(PerfEvents, WhatTheKernelDescribesIsAnEventToo) {
  file("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
  file("cpu/events/odd", "event=0xcd,in_tx=1\n");
  const auto events = perf_events("mem-loads", place_);
  ASSERT_TRUE(events) << events.error().message;
  EXPECT_EQ((*events)[0].type, 4u);
  EXPECT_EQ((*events)[0].config, 0x1cdu);
  EXPECT_EQ((*events)[0].config1, 30u);
  EXPECT_EQ((*events)[0].precise, 2);
  const auto odd = perf_events("odd", place_);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Error::Code::kUnsupported);
  EXPECT_NE(odd.error().message.find("in_tx=1"), std::string::npos);
}

TEST_F(PerfEvents, WithoutPrecisionThereAreNoAddresses) {
  file("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
  file("cpu/caps/max_precise", "0\n");
  const auto none = perf_events("mem-loads", place_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnsupported);
  EXPECT_NE(none.error().message.find("hypervisor"), std::string::npos);
  file("cpu/caps/max_precise", "1\n");
  EXPECT_EQ((*perf_events("mem-loads", place_))[0].precise, 1);
}

TEST_F(PerfEvents, WithoutAPmuTheRemedyIsNamed) {
  vendor("GenuineIntel");
  const auto events = perf_events("", place_);
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, Error::Code::kUnsupported);
  EXPECT_NE(events.error().message.find("--source stream:PATH"),
            std::string::npos);
  vendor("SomebodyElse");
  EXPECT_EQ(perf_events("", place_).error().code, Error::Code::kUnsupported);
}

TEST(OpenSampler, UnknownSourcesAreNamed) {
  for (const std::string wrong : {"", "strema:x", "stream:", "nine"}) {
    const auto sampler = open_sampler(wrong, getpid());
    ASSERT_FALSE(sampler);
    EXPECT_EQ(sampler.error().code, Error::Code::kInvalid);
    EXPECT_NE(sampler.error().message.find("stream:PATH"), std::string::npos);
  }
}

TEST(OpenSampler, NoneSamplesNothing) {
  auto sampler = open_sampler("none", 0);
  ASSERT_TRUE(sampler);
  const auto batch = (*sampler)->read(std::chrono::milliseconds(0));
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->samples.empty());
  EXPECT_FALSE(batch->ended);
  EXPECT_EQ((*sampler)->descriptor(), -1);
}

}  // namespace
}  // namespace thermocline
