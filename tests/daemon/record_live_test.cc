// thermocline record on a real job whose memory comes and goes: what its
// samples lie in is known. The kernel's page faults stand for misses, for they
// need no PMU.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/daemon/thermoclined_process.h"
#include "traces/address_map.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Area {
  std::string name;
  Address start = 0;
  Address end = 0;
};

std::vector<Area> areas_in(const std::string& text) {
  std::istringstream lines(text);
  std::vector<Area> areas;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    Area area;
    if (words >> area.name >> std::hex >> area.start >> area.end) {
      areas.push_back(area);
    }
  }
  return areas;
}

TEST(RecordLive, SamplesLieInWhatTheJobHadThen) {
  const Scratch scratch;
  const auto to = scratch / "x.trace";
  Child child({THERMOCLINE, "record", "--quiet", "--no-tensors", "--source",
               "perf:page-faults@1,budget=100%", "-o", to, "--",
               "/usr/bin/python3", "tests/daemon/restless_job.py"});
  ASSERT_EQ(child.wait(), 0) << child.output();
  const auto areas = areas_in(child.output());
  ASSERT_EQ(areas.size(), 6u) << child.output();
  const auto read = read_trace(to);
  ASSERT_TRUE(read) << read.error().message;
  const Trace& trace = read->trace;

  AddressMap ever;
  for (std::size_t i = 0; i < trace.mappings.size(); ++i) {
    const auto& mapping = trace.mappings[i];
    ever.insert(mapping.start, mapping.end, static_cast<ObjectId>(i));
  }
  for (const auto& area : areas) {
    const auto mapping = ever.find(area.start);
    ASSERT_NE(mapping, AddressMap::kNone) << area.name;
    EXPECT_NE(ever.find(area.end - 1), AddressMap::kNone) << area.name;
    if (area.name == "library") {
      EXPECT_NE(trace.mappings[mapping].name.find("libm"), std::string::npos);
      continue;
    }
    if (area.end - area.start < 4096) continue;
    // Each page of it was touched, so each small page had a fault.
    std::set<Address> pages;
    for (const Sample& sample : trace.samples) {
      if (sample.address >= area.start && sample.address < area.end) {
        pages.insert(sample.address / 4096);
      }
    }
    const auto all = (area.end - area.start) / 4096;
    EXPECT_GT(pages.size(), area.name == "huge" ? 0 : all / 2) << area.name;
  }
  const auto known = std::count_if(
      trace.samples.begin(), trace.samples.end(), [&](const Sample& sample) {
        return ever.find(sample.address) != AddressMap::kNone;
      });
  EXPECT_GT(static_cast<double>(known),
            0.95 * static_cast<double>(trace.samples.size()));
}

}  // namespace
}  // namespace thermocline
