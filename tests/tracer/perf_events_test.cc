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
  for (const std::string wrong :
       {"", "strema:x", "stream:", "stream", "nine"}) {
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
