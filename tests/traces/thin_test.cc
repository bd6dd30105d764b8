#include "traces/thin.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/traces/small_trace.h"

namespace thermocline {
namespace {

Trace of_samples(int count) {
  Trace trace;
  for (int i = 0; i < count; ++i) {
    Sample sample;
    sample.time = i;
    sample.address = static_cast<Address>(i % 4) << 12;
    sample.period = 10;
    trace.samples.push_back(sample);
  }
  return trace;
}

std::uint64_t accesses(const Trace& trace, Address page) {
  std::uint64_t sum = 0;
  for (const auto& sample : trace.samples) {
    if (sample.address == page << 12) sum += sample.period;
  }
  return sum;
}

TEST(Thin, EstimatesWhatEachPageHad) {
  const Trace whole = of_samples(40000);
  const Trace less = thin(whole, 8);
  for (Address page = 0; page < 4; ++page) {
    // 10,000 samples, of which 1,250 +- 33 stay; five deviations.
    EXPECT_NEAR(static_cast<double>(accesses(less, page)), 100000,
                5 * 33 * 80.0);
  }
  EXPECT_LT(less.samples.size(), whole.samples.size() / 7);
}

// Every n-th sample of a job with a period of n would keep one page only.
TEST(Thin, HasNoBeatWithTheJob) {
  const Trace less = thin(of_samples(40000), 4);
  for (Address page = 0; page < 4; ++page) EXPECT_GT(accesses(less, page), 0U);
}

TEST(Thin, SameSeedSameSamples) {
  const Trace whole = of_samples(1000);
  EXPECT_EQ(thin(whole, 8, 3).samples, thin(whole, 8, 3).samples);
  EXPECT_NE(thin(whole, 8, 3).samples, thin(whole, 8, 4).samples);
  EXPECT_EQ(thin(whole, 1).samples, whole.samples);
}

TEST(Thin, MissesAloneAreWhatNoCacheServed) {
  Trace trace = of_samples(8);
  trace.samples[1].source = Source::kL1;
  trace.samples[2].source = Source::kPmem;
  trace.samples[3].source = Source::kL3;
  const Trace less = misses_alone(trace);
  ASSERT_EQ(less.samples.size(), 6U);
  EXPECT_EQ(less.samples[1].source, Source::kPmem);
}

TEST(Thin, PeriodsAndLossesFollow) {
  Trace trace = of_samples(10);
  trace.samples[0].period = 4000000000U;
  trace.periods = {{0, "loads", 100}};
  trace.losses = {{0, "samples:loads", 80}, {0, "observer", 80}};
  const Trace less = thin(trace, 8);
  EXPECT_EQ(less.periods[0].period, 800U);
  EXPECT_EQ(less.losses[0].count, 10U);
  EXPECT_EQ(less.losses[1].count, 80U);
  for (const auto& sample : less.samples) {
    EXPECT_TRUE(sample.period == 80 || sample.period == 0xffffffffU);
  }
}

TEST(Thin, CountersKeepFirstAndLast) {
  Trace trace;
  for (std::uint32_t i = 0; i < 20; ++i) {
    Counters reading;
    reading.time = i;
    reading.cpu = i % 2;
    reading.instructions = i;
    trace.counters.push_back(reading);
  }
  std::vector<std::uint64_t> kept;
  for (const auto& reading : thin(trace, 4).counters) {
    kept.push_back(reading.instructions);
  }
  EXPECT_EQ(kept, (std::vector<std::uint64_t>{0, 1, 8, 9, 16, 17, 18, 19}));
}

TEST(Anonymous, CutsFoldersAndPhysicalAddresses) {
  Trace trace = small_trace();
  trace.info.command = {"/home/her/train.py", "--data=/mnt/secret/set",
                        "--lr=0.1", "plain"};
  trace.mappings = {{0, 0, 4096, "r-xp", "/home/her/lib/libx.so"},
                    {0, 4096, 8192, "rw-p", "[heap]"}};
  trace.samples[0].physical = 4096;
  const Trace cut = anonymous(trace);
  EXPECT_EQ(cut.info.command,
            (std::vector<std::string>{"train.py", "--data=set", "--lr=0.1",
                                      "plain"}));
  EXPECT_EQ(cut.mappings[0].name, "libx.so");
  EXPECT_EQ(cut.mappings[1].name, "[heap]");
  EXPECT_EQ(cut.samples[0].physical, 0U);
  EXPECT_EQ(cut.tensors, trace.tensors);
  EXPECT_EQ(cut.operators, trace.operators);
}

}  // namespace
}  // namespace thermocline
