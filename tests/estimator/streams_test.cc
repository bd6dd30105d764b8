// Lines that a prefetcher hides, and lines that only a memory controller
// counts.
#include "estimator/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "estimator/link_lines.h"

namespace thermocline {
namespace {

constexpr Address kStart = 0x10000000;
constexpr std::uint32_t kEvery = 97;

// An array read in order by one instruction and, of it, one miss in `hidden`
// seen; another instruction gathers from elsewhere in between.
Trace stream_and_gather(int hidden, bool backwards = false) {
  Trace trace;
  trace.info.page_bytes = 4096;
  std::mt19937_64 random(5);
  const std::int64_t array = 1 << 24;  // bytes
  Nanos time = 0;
  double until = 0;
  std::exponential_distribution<double> gap(1.0 / (kEvery * 64.0 * hidden));
  for (int pass = 0; pass < 4; ++pass) {
    for (std::int64_t at = 0; at < array; at += 64 * kEvery) {
      time += 1000;
      trace.samples.push_back({time, kStart + 0x8000000 + random() % (1 << 26),
                               0x200, 1, 0, 900, kEvery});
      until -= 64.0 * kEvery;
      if (hidden > 1 && until > 0) continue;
      until = gap(random);
      const auto there = backwards ? array - at : at;
      trace.samples.push_back({time + 1, kStart + static_cast<Address>(there),
                               0x100, 1, 0, 900, kEvery});
    }
  }
  return trace;
}

double lines_of(const Trace& trace, Address ip) {
  double lines = 0;
  for (const Sample& sample : trace.samples) {
    if (sample.ip == ip) lines += sample.period;
  }
  return lines;
}

TEST(Streams, HiddenLinesAreRestored) {
  for (const bool backwards : {false, true}) {
    const Trace trace = stream_and_gather(20, backwards);
    const AccessClasses classes(trace, trace);
    const Trace whole = restore(trace, classes);
    EXPECT_TRUE(std::is_sorted(
        whole.samples.begin(), whole.samples.end(),
        [](const auto& a, const auto& b) { return a.time < b.time; }));
    const double all = 4.0 * (1 << 24) / 64;
    EXPECT_LT(lines_of(trace, 0x100), all / 10);
    EXPECT_NEAR(lines_of(whole, 0x100), all, all * 0.1);
    EXPECT_EQ(lines_of(whole, 0x200), lines_of(trace, 0x200));
  }
}

// Where and when they passed, not only how many.
TEST(Streams, RestoredLinesLieBetweenTheirNeighbours) {
  const Trace trace = stream_and_gather(20);
  const Trace whole = restore(trace, AccessClasses(trace, trace));
  std::vector<int> quarters(4, 0);
  for (const Sample& sample : whole.samples) {
    if (sample.ip != 0x100) continue;
    ASSERT_GE(sample.address, kStart);
    ASSERT_LT(sample.address, kStart + (1 << 24) + 1);
    ++quarters[std::min<Address>((sample.address - kStart) >> 22, 3)];
  }
  const auto [least, most] =
      std::minmax_element(quarters.begin(), quarters.end());
  EXPECT_LT(*most, *least * 1.35);
}

TEST(Streams, WhatIsSeenWholeStaysAsItIs) {
  const Trace trace = stream_and_gather(1);
  const Trace same = restore(trace, AccessClasses(trace, trace));
  EXPECT_NEAR(static_cast<double>(same.samples.size()),
              static_cast<double>(trace.samples.size()),
              static_cast<double>(trace.samples.size()) * 0.02);
}

TEST(Streams, SamplesThatAreAddedAreBounded) {
  const Trace trace = stream_and_gather(2000);
  const Trace whole = restore(trace, AccessClasses(trace, trace));
  EXPECT_LE(whole.samples.size(), (kMostRestored + 1) * trace.samples.size());
}

// The same, with counters of all lines that passed: those of the misses, and
// `unseen` times those that the way between the stream's samples speaks of.
Trace stream_with_counters(double unseen) {
  Trace trace = stream_and_gather(20);
  const Trace whole = restore(trace, AccessClasses(trace, trace));
  Counters counters;
  counters.lines_read = counters.lines_written = {0, 0};
  double lines = 0;
  std::size_t w = 0;
  for (std::size_t s = 0; s < trace.samples.size(); ++s) {
    lines += trace.samples[s].period;
    double passed = 0;
    for (; w < whole.samples.size() &&
           whole.samples[w].time <= trace.samples[s].time;
         ++w) {
      passed += whole.samples[w].period;
    }
    lines += unseen * std::max(0.0, passed - trace.samples[s].period);
    if (s % 50 != 49) continue;
    counters.time = trace.samples[s].time + 1;
    counters.lines_read[1] = static_cast<std::uint64_t>(lines);
    trace.counters.push_back(counters);
  }
  return trace;
}

// A radix sort fills each bucket in order, and all of them at once: the way
// from one sample to another passes lines that nobody fetched in between.
TEST(Streams, LinesThatNoCounterSawAreNotRestored) {
  const double all = 4.0 * (1 << 24) / 64;
  for (const double unseen : {0.0, 0.5, 1.0}) {
    const Trace trace = stream_with_counters(unseen);
    const Trace whole = restore(trace, AccessClasses(trace, trace));
    const double seen = lines_of(trace, 0x100);
    EXPECT_NEAR(lines_of(whole, 0x100), seen + unseen * (all - seen),
                all * 0.12)
        << unseen;
  }
}

Machine two_tiers() {
  Machine machine;
  machine.cycles_per_ns = 3;
  machine.tiers.resize(2);
  machine.tiers[0].read_ns = 100;
  machine.tiers[1].read_ns = 300;
  return machine;
}

// Two instructions in turns of uneven length; each access of the second brings
// three lines and sends `back` back, which only the counters tell.
Trace counted(bool with_lines, std::uint32_t latency_of_second,
              std::uint32_t back = 1) {
  Trace trace;
  std::mt19937_64 random(9);
  Counters counters;
  counters.lines_read = counters.lines_written = {0, 0};
  for (int i = 0; i < 60'000; ++i) {
    const bool second =
        static_cast<int>(random() % 100) < 10 + i / 3000 % 3 * 40;
    const Nanos time = i * 100;
    trace.samples.push_back({time, kStart + random() % (1 << 28),
                             second ? 0x20U : 0x10U, 1, 0,
                             second ? latency_of_second : 1200, kEvery});
    counters.lines_read[1] += kEvery * (second ? 3 : 1);
    counters.lines_written[1] += second ? back * kEvery : 0;
    if (i % 50 != 49) continue;
    counters.time = time + 1;
    trace.counters.push_back(counters);
    if (!with_lines) {
      trace.counters.back().lines_read.clear();
      trace.counters.back().lines_written.clear();
    }
  }
  return trace;
}

Sample of(Address ip) { return {0, 0, ip}; }

TEST(LinkLines, AreSplitAmongTheClassesByTheCounters) {
  const Trace slow = counted(true, 300);  // below an idle memory's: prefetched
  const Trace none = counted(false, 300);
  AccessClasses classes(slow, none);
  learn_link_lines(slow, none, two_tiers(), classes);
  const auto& first = classes.all()[classes.of(of(0x10))];
  const auto& second = classes.all()[classes.of(of(0x20))];
  EXPECT_NEAR(second.lines, 3, 0.2);
  EXPECT_NEAR(second.back, 1, 0.1);
  EXPECT_NEAR(first.lines, 1, 0.15);
  EXPECT_NEAR(first.back, 0, 0.05);
}

// What goes back late is read beside what others do.
TEST(LinkLines, NoneGoesBackMoreOftenThanItCame) {
  const Trace slow = counted(true, 300, 6);
  const Trace none = counted(false, 300);
  AccessClasses classes(slow, none);
  learn_link_lines(slow, none, two_tiers(), classes);
  const auto& second = classes.all()[classes.of(of(0x20))];
  EXPECT_NEAR(second.lines, 3, 0.2);
  EXPECT_EQ(second.back, second.lines);
}

TEST(LinkLines, WithoutCountersAreOneAnAccess) {
  const Trace none = counted(false, 300);
  AccessClasses classes(none, none);
  learn_link_lines(none, none, two_tiers(), classes);
  for (const auto& what : classes.all()) {
    EXPECT_EQ(what.lines, 1);
    EXPECT_EQ(what.back, what.store ? 1 : 0);
  }
}

}  // namespace
}  // namespace thermocline
