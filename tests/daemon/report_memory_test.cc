// Memory over time, of traces whose every byte is known.
#include "daemon/report_memory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "traces/summary.h"

namespace thermocline {
namespace {

Trace ten_nanoseconds() {
  Trace trace;
  trace.marks = {{100, "start"}, {110, "end"}};
  trace.end = {true, 0, 10};
  return trace;
}

Sample at(Nanos time, Address address) {
  Sample sample;
  sample.time = time;
  sample.address = address;
  return sample;
}

TEST(ReportMemory, BinsCoverTheRunAndNoMore) {
  const auto bins = TimeBins::of(ten_nanoseconds(), 5);
  EXPECT_EQ(bins.count, 5u);
  EXPECT_EQ(bins.width_ns, 2);
  EXPECT_EQ(bins.of(99), 0u);
  EXPECT_EQ(bins.of(101), 0u);
  EXPECT_EQ(bins.of(102), 1u);
  EXPECT_EQ(bins.of(110), 4u);
  EXPECT_EQ(bins.of(5000), 4u);
}

TEST(ReportMemory, ARunShorterThanItsBinsHasFewer) {
  EXPECT_EQ(TimeBins::of(ten_nanoseconds(), 300).count, 10u);
  EXPECT_EQ(TimeBins::of(Trace(), 300).count, 1u);
}

TEST(ReportMemory, WhatIsSpreadIsNeitherLostNorAdded) {
  const auto bins = TimeBins::of(ten_nanoseconds(), 5);
  std::vector<double> cells(5, 0);
  bins.spread(101, 105, 8, cells);
  EXPECT_EQ(cells, (std::vector<double>{2, 4, 2, 0, 0}));
  bins.spread(90, 95, 1, cells);
  bins.spread(105, 105, 1, cells);
  bins.spread(106, 200, 94, cells);
  EXPECT_EQ(cells, (std::vector<double>{3, 4, 3, 2, 92}));
}

TEST(ReportMemory, LiveIsTheMostAtAnyInstantOfABin) {
  Trace trace = ten_nanoseconds();
  // The second takes the first one's place; the third lives within one bin.
  trace.tensors = {{1, 0x1000, 100, 100, 105, ""},
                   {2, 0x1000, 60, 105, -1, ""},
                   {3, 0x2000, 500, 108, 109, ""},
                   {4, 0x3000, 900, 106, 106, ""}};
  trace.sort();
  const auto out = memory_over_time(trace, TimeBins::of(trace, 5));
  EXPECT_EQ(out.live, (std::vector<Bytes>{100, 100, 100, 60, 560}));
  EXPECT_EQ(*std::max_element(out.live.begin(), out.live.end()),
            peak_live_bytes(trace));
  EXPECT_TRUE(out.touched.empty());
}

TEST(ReportMemory, ATouchedPageCountsOnceABinAndOnceInTheFootprint) {
  Trace trace = ten_nanoseconds();
  trace.samples = {at(100, 0x1000), at(101, 0x1fff), at(103, 0x1000),
                   at(103, 0x2000), at(109, 0x2008)};
  const auto out = memory_over_time(trace, TimeBins::of(trace, 5));
  EXPECT_EQ(out.touched, (std::vector<Bytes>{4096, 8192, 0, 0, 4096}));
  EXPECT_EQ(out.footprint, (std::vector<Bytes>{4096, 8192, 8192, 8192, 8192}));
  EXPECT_EQ(out.footprint.back(), footprint_bytes(trace));
  EXPECT_TRUE(out.live.empty());
}

}  // namespace
}  // namespace thermocline
