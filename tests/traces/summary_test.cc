#include "traces/summary.h"

#include <gtest/gtest.h>

#include "tests/traces/small_trace.h"

namespace thermocline {
namespace {

Tensor tensor(Bytes bytes, Nanos born, Nanos died) {
  Tensor made;
  made.bytes = bytes;
  made.born = born;
  made.died = died;
  return made;
}

TEST(Summary, PeakOfLiveBytes) {
  Trace trace;
  EXPECT_EQ(peak_live_bytes(trace), 0);
  // Freed at 20 and used again at 20; the third lives for ever.
  trace.tensors = {tensor(100, 10, 20), tensor(100, 20, 30), tensor(1, 25, -1)};
  EXPECT_EQ(peak_live_bytes(trace), 101);
  trace.tensors.push_back(tensor(7, 29, 31));
  EXPECT_EQ(peak_live_bytes(trace), 108);
  trace.tensors.push_back(tensor(1000, 15, 15));
  trace.tensors.push_back(tensor(1000, 15, 14));
  EXPECT_EQ(peak_live_bytes(trace), 108);
}

TEST(Summary, FootprintCountsPagesOnce) {
  Trace trace;
  for (const Address address :
       std::vector<Address>{0x1000, 0x1fff, 0x2000, 0x1010, 0x9000}) {
    Sample sample;
    sample.address = address;
    trace.samples.push_back(sample);
  }
  EXPECT_EQ(footprint_bytes(trace), 3 * 4096);
  trace.info.page_bytes = 2 << 20;
  EXPECT_EQ(footprint_bytes(trace), 2 << 20);
}

TEST(Summary, CountsLoadsStoresAndLosses) {
  const Trace trace = small_trace();
  const auto summary = summarise(trace);
  EXPECT_EQ(summary.loads + summary.stores, trace.samples.size());
  EXPECT_EQ(summary.stores, 76);
  EXPECT_EQ(summary.lost, 17);
  EXPECT_EQ(summary.peak_live, 2560 << 10);
}

TEST(Summary, PeriodsAreToldByEvent) {
  Trace trace;
  EXPECT_TRUE(period_ranges(trace).empty());
  trace.periods = {{1, "loads", 101}, {1, "stores", 7}, {2, "loads", 211},
                   {3, "loads", 53},  {3, "stores", 7}, {4, "loads", 101}};
  EXPECT_EQ(period_ranges(trace),
            (std::vector<PeriodRange>{{"loads", 101, 101, 53, 211, 3},
                                      {"stores", 7, 7, 7, 7, 0}}));
}

}  // namespace
}  // namespace thermocline
