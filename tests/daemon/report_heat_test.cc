// Heat maps of traces whose every access is known.
#include "daemon/report_heat.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

Trace hundred_nanoseconds() {
  Trace trace;
  trace.marks = {{0, "start"}, {100, "end"}};
  trace.end = {true, 0, 100};
  return trace;
}

void touch(Trace& trace, Nanos time, Address address, Access access,
           std::uint32_t period = 1) {
  Sample sample;
  sample.time = time;
  sample.address = address;
  sample.access = access;
  sample.period = period;
  trace.samples.push_back(sample);
}

double sum(const HeatMap& map, std::vector<double> HeatRow::*cells) {
  double out = 0;
  for (const auto& row : map.rows) {
    out = std::accumulate((row.*cells).begin(), (row.*cells).end(), out);
  }
  return out;
}

TEST(ReportHeat, RowsByAddressHaveEquallyManyTouchedPages) {
  Trace trace = hundred_nanoseconds();
  trace.mappings = {{0, 0, 1000 * kPage, "rw-p", "[heap]"}};
  // Every seventh page of a sparse heap, twice.
  for (Address p = 0; p < 100; ++p) {
    touch(trace, 10, 7 * p * kPage, Access::kLoad, 3);
    touch(trace, 90, 7 * p * kPage + 5, Access::kStore);
  }
  const auto bins = TimeBins::of(trace, 10);
  const auto map = heat_by_address(trace, bins, 20);
  ASSERT_EQ(map.rows.size(), 20u);
  for (const auto& row : map.rows) {
    EXPECT_EQ(row.count, 5u);
    EXPECT_EQ(row.bytes, 5 * kPage);
    EXPECT_EQ(row.name, "[heap]");
    EXPECT_EQ(row.loads[1], 15);
    EXPECT_EQ(row.stores[9], 5);
  }
  EXPECT_EQ(sum(map, &HeatRow::loads), 300);
  EXPECT_EQ(sum(map, &HeatRow::stores), 100);
}

TEST(ReportHeat, WhatACacheServedIsNoHeat) {
  Trace trace = hundred_nanoseconds();
  touch(trace, 10, kPage, Access::kStore);
  for (int i = 0; i < 8; ++i) {  // as a line's other stores are
    touch(trace, 11, kPage + 8, Access::kStore);
    trace.samples.back().source = Source::kL1;
  }
  const auto map = heat_by_address(trace, TimeBins::of(trace, 10), 20);
  EXPECT_EQ(sum(map, &HeatRow::stores), 1);
}

TEST(ReportHeat, FarMappingsShareNoRow) {
  Trace trace = hundred_nanoseconds();
  touch(trace, 1, 0x1000, Access::kLoad);
  touch(trace, 2, 0x7fff00000000, Access::kLoad);
  // Even where one row was asked for.
  const auto map = heat_by_address(trace, TimeBins::of(trace), 1);
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_EQ(sum(map, &HeatRow::loads), 2);
  EXPECT_EQ(map.rows[1].start, 0x7fff00000000u);
}

TEST(ReportHeat, TensorsOfOnePlaceAreOneRowAndTheRestIsToldAsOne) {
  Trace trace = hundred_nanoseconds();
  for (ObjectId serial = 1; serial <= 4; ++serial) {
    const Nanos born = 20 * (serial - 1);
    trace.tensors.push_back(
        {serial, 0x10000, 256, born, born + 20, "gradient"});
  }
  trace.tensors.push_back({5, 0x20000, 256, 0, -1, "weight"});
  trace.tensors.push_back({6, 0x30000, 256, 0, -1, ""});
  trace.tensors.push_back({7, 0x40000, 256, 0, -1, "never used"});
  trace.sort();
  for (int i = 0; i < 8; ++i) touch(trace, i, 0x20010, Access::kLoad);
  touch(trace, 50, 0x10010, Access::kStore, 4);
  touch(trace, 51, 0x30010, Access::kLoad);
  touch(trace, 52, 0x90000, Access::kLoad);
  const auto map = heat_by_tensor(trace, TimeBins::of(trace, 10), 2);
  EXPECT_TRUE(map.sampled);
  ASSERT_EQ(map.rows.size(), 3u);
  EXPECT_EQ(map.rows[0].name, "tensor:5");
  EXPECT_EQ(map.rows[1].label, "gradient");
  EXPECT_EQ(map.rows[1].count, 4u);
  EXPECT_EQ(map.rows[1].stores[5], 4);
  EXPECT_EQ(map.rows[2].name, "all others");
  EXPECT_EQ(map.rows[2].count, 1u);
  EXPECT_EQ(map.rows[2].loads[5], 1);
}

TEST(ReportHeat, WithoutSamplesOperatorsTellHowManyLinesWereUsed) {
  Trace trace = hundred_nanoseconds();
  trace.tensors = {{1, 0x1000, 640, 0, -1, ""}, {2, 0x2000, 65, 0, -1, ""}};
  trace.operators = {{"aten::relu", "", 10, 30, 1, Phase::kForward, {1}, {2}}};
  const auto bins = TimeBins::of(trace, 10);
  const auto map = heat_by_tensor(trace, bins);
  EXPECT_FALSE(map.sampled);
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_EQ(map.rows[0].loads[1], 5);
  EXPECT_EQ(map.rows[0].loads[2], 5);
  EXPECT_EQ(sum(map, &HeatRow::loads), 10);
  EXPECT_EQ(sum(map, &HeatRow::stores), 2);
  EXPECT_TRUE(heat_by_address(trace, bins).rows.empty());
}

TEST(ReportHeat, CellsAreWholeUnitsAndNothingUsedLooksUnused) {
  Trace trace = hundred_nanoseconds();
  touch(trace, 5, 0x1000, Access::kLoad, 4'000'000);
  touch(trace, 55, 0x1000, Access::kLoad, 1);
  const auto bins = TimeBins::of(trace, 10);
  const auto json = to_json(heat_by_address(trace, bins), bins);
  EXPECT_EQ(json["unit"], 401);
  EXPECT_EQ(json["rows"][0]["loads"][0], 9975);
  EXPECT_EQ(json["rows"][0]["loads"][5], 1);
  EXPECT_EQ(json["rows"][0]["loads"][6], 0);
  EXPECT_EQ(json["rows"][0]["accesses"], 4'000'001);
}

}  // namespace
}  // namespace thermocline
