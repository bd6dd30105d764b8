#include "traces/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/traces/small_trace.h"

namespace thermocline {
namespace {

std::string csv(const Trace& trace, const std::string& list) {
  std::string text;
  EXPECT_TRUE(export_csv(trace, list, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  return text;
}

nlohmann::json json(const Trace& trace, const std::string& list) {
  std::string text;
  EXPECT_TRUE(export_json(trace, list, [&](std::string_view piece) {
    text += piece;
    return true;
  }));
  auto parsed = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(parsed.is_discarded()) << text;
  return parsed;
}

// How often `c` occurs outside quotes.
std::int64_t bare(const std::string& line, char c) {
  bool quoted = false;
  std::int64_t count = 0;
  for (const char at : line) {
    if (at == '"') quoted = !quoted;
    if (at == c && !quoted) ++count;
  }
  return count;
}

TEST(Export, CsvOfEveryListHasAHeaderAndALineForEachEvent) {
  Trace trace = small_trace();
  trace.periods = {{1, "loads", 101}};
  trace.sequences = {{5, 1, 0, {{0x1000, 0x40, 0}, {0x2000, 0x44, 7}}}};
  const auto all = json(trace, "");
  EXPECT_EQ(export_lists().size(), 10);
  for (const auto& list : export_lists()) {
    const auto text = csv(trace, list);
    EXPECT_EQ(bare(text, '\n'), static_cast<int>(all[list].size()) + 1) << list;
    std::istringstream lines(text);
    std::string header, line;
    std::getline(lines, header);
    while (std::getline(lines, line)) {
      EXPECT_EQ(bare(line, ','), bare(header, ',')) << line;
    }
    // The same names in the same order as in JSON.
    for (const auto& [name, unused] : all[list][0].items()) {
      EXPECT_NE(("," + header + ",").find("," + name + ","), header.npos);
    }
  }
}

TEST(Export, CsvShowsValuesWithTheirUnits) {
  Trace trace;
  trace.samples = {{5, 0x7f00deadbeef, 0x1000, 7, 1, 300, 101, Access::kStore,
                    Source::kCxl, 280, 0x4321eef}};
  EXPECT_EQ(csv(trace, "samples"),
            "time_ns,address,ip,thread,cpu,latency_cycles,period,access,"
            "source,retire_latency_cycles,physical\n"
            "5,0x7f00deadbeef,0x1000,7,1,300,101,store,cxl,280,0x4321eef\n");
  trace.mappings = {{-3, 0x1000, ~Address{0}, "rw-p", "/a \"b\", c\nd"}};
  EXPECT_EQ(csv(trace, "mappings"),
            "time_ns,start,end,permissions,name\n"
            "-3,0x1000,0xffffffffffffffff,rw-p,\"/a \"\"b\"\", c\nd\"\n");
  EXPECT_EQ(csv(trace, "losses"), "time_ns,source,count\n");
  trace.sequences = {
      {5,
       1,
       2,
       {{0x1000, 0x40, 0}, {0x2040, 0x44, 7, Access::kStore, Source::kL2}}}};
  EXPECT_EQ(
      csv(trace, "sequences"),
      "sequence,time_ns,thread,cpu,address,ip,instructions,access,source\n"
      "0,5,1,2,0x1000,0x40,0,load,unknown\n"
      "0,5,1,2,0x2040,0x44,7,store,l2\n");
  trace.periods = {{9, "loads", 10'007}};
  EXPECT_EQ(csv(trace, "periods"), "time_ns,event,period\n9,loads,10007\n");
}

TEST(Export, JsonHoldsEverything) {
  const Trace trace = small_trace();
  const auto all = json(trace, "");
  EXPECT_EQ(all["info"]["command"].size(), 4);
  EXPECT_EQ(all["info"]["emulated"], true);
  EXPECT_EQ(all["end"]["run_ns"], trace.end.run_ns);
  ASSERT_EQ(all["samples"].size(), trace.samples.size());
  EXPECT_EQ(all["samples"][7]["time_ns"], trace.samples[7].time);
  EXPECT_EQ(all["tensors"][0]["address"], "0x7f2a40000000");
  EXPECT_EQ(all["operators"][5]["reads"], (nlohmann::json{1, 2, 3, 4}));
  EXPECT_EQ(all["operators"][5]["phase"], "optimizer");
  EXPECT_EQ(all["counters"][0]["misses"], (nlohmann::json{20000, 7000}));
}

TEST(Export, JsonOfOneListAndOfACutTrace) {
  Trace trace = small_trace();
  trace.end.known = false;
  const auto marks = json(trace, "marks");
  EXPECT_EQ(marks.size(), 3);
  EXPECT_TRUE(marks["end"].is_null());
  EXPECT_EQ(marks["marks"].size(), trace.marks.size());
  EXPECT_EQ(json({}, "").size(), 12);
}

TEST(Export, JsonIsUtf8WhateverATextHolds) {
  Trace trace;
  trace.marks = {{1, std::string("\xff \"\\\n\0 \xc3\xa9", 9)}};
  EXPECT_EQ(json(trace, "marks")["marks"][0]["name"],
            std::string("\xef\xbf\xbd \"\\\n\0 \xc3\xa9", 11));
}

TEST(Export, ASinkThatHasEnoughStopsIt) {
  Trace trace = small_trace();
  small_trace_parts::add_samples(trace, 20'000);
  int pieces = 0;
  const TextSink enough = [&](std::string_view) { return ++pieces < 3; };
  EXPECT_FALSE(export_csv(trace, "samples", enough));
  EXPECT_EQ(pieces, 3);
  EXPECT_FALSE(export_json(trace, "", enough));
  EXPECT_EQ(pieces, 4);
}

}  // namespace
}  // namespace thermocline
