// Which tiers served a job, from counters and samples that are known.
#include "daemon/report_traffic.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

Counters reading(Nanos time, std::uint32_t cpu, std::uint64_t misses,
                 std::uint64_t lines) {
  Counters out;
  out.time = time;
  out.cpu = cpu;
  out.misses = {misses, 2 * misses};
  out.lines_read = {lines, 0};
  out.lines_written = {0, lines};
  return out;
}

Trace hundred_nanoseconds() {
  Trace trace;
  trace.marks = {{0, "start"}, {100, "end"}};
  trace.end = {true, 0, 100};
  return trace;
}

TEST(ReportTraffic, CountersAreCumulativeAndOfEachCpu) {
  Trace trace = hundred_nanoseconds();
  trace.counters = {reading(0, 0, 10, 100), reading(0, 1, 1000, 0),
                    reading(50, 0, 15, 110), reading(55, 1, 1011, 0),
                    reading(99, 0, 2, 0)};  // it began anew
  const auto bins = TimeBins::of(trace, 10);
  const auto out = traffic_over_time(trace, bins);
  ASSERT_EQ(out.links.size(), 2u);
  // 5 of the one CPU in 50 ns, 11 of the other in 55.
  EXPECT_NEAR(out.links[0].misses[0], 1 + 2, 1e-9);
  EXPECT_NEAR(out.links[0].misses[4], 1 + 2, 1e-9);
  EXPECT_NEAR(out.links[0].misses[5], 1, 1e-9);
  EXPECT_NEAR(out.links[1].misses[4], 2 * 3, 1e-9);
  EXPECT_EQ(out.links[0].misses[9], 0);
  EXPECT_NEAR(out.links[0].read_bytes[2], 128, 1e-9);
  EXPECT_NEAR(out.links[1].written_bytes[2], 128, 1e-9);
  const auto json = to_json(out, {"dram"});
  EXPECT_EQ(json["links"][0]["tier"], "dram");
  EXPECT_EQ(json["links"][1]["tier"], "tier 1");
}

TEST(ReportTraffic, SamplesSayWhereTheirDataCameFrom) {
  Trace trace = hundred_nanoseconds();
  Sample sample;
  sample.time = 15;
  sample.period = 7;
  sample.source = Source::kPmem;
  trace.samples = {sample};
  const auto out = traffic_over_time(trace, TimeBins::of(trace, 10));
  EXPECT_TRUE(out.links.empty());
  EXPECT_FALSE(out.lines);
  ASSERT_TRUE(out.served.contains("pmem"));
  EXPECT_EQ(out.served.at("pmem")[1], 7);
  EXPECT_EQ(out.served.size(), 1u);
}

}  // namespace
}  // namespace thermocline
