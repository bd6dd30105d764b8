// What stores that hit a cache say, and that they say nothing else.
#include "estimator/store_hits.h"

#include <gtest/gtest.h>

#include <random>

#include "estimator/differential.h"
#include "estimator/link_lines.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

constexpr Address kRead = 0x7000'0000'0000;
constexpr Address kUpdated = 0x7100'0000'0000;
constexpr Bytes kArray = Bytes{1} << 28;
constexpr std::uint32_t kEvery = 97;

Sample hit(Nanos time, Address address, std::uint32_t period) {
  return {time, address, 0x30, 1, 0, 0, period, Access::kStore, Source::kL1};
}

// Two loads of random lines, always together: of one array, whose lines stay
// clean, and of another, where each is written.
Trace updates(bool hits_too) {
  Trace trace;
  std::mt19937_64 random(9);
  Counters counters;
  counters.lines_read = counters.lines_written = {0, 0};
  for (int i = 0; i < 60'000; ++i) {
    const bool updated = random() % 2 == 0;
    const Nanos time = i * 100;
    const Address line = random() % kArray;
    trace.samples.push_back({time, (updated ? kUpdated : kRead) + line,
                             updated ? 0x20U : 0x10U, 1, 0, 1200, kEvery});
    if (updated && hits_too && random() % 10 == 0) {
      trace.samples.push_back(hit(time + 1, kUpdated + line, 10 * kEvery));
    }
    counters.lines_read[1] += kEvery;
    counters.lines_written[1] += kEvery / 2;
    if (i % 50 != 49) continue;
    counters.time = time + 1;
    trace.counters.push_back(counters);
  }
  return trace;
}

TEST(StoreHits, TellWhoseLinesGoBack) {
  const Trace trace = updates(true), misses = from_memory(trace);
  EXPECT_EQ(misses.samples.size(), 60'000U);
  AccessClasses classes(misses, misses);
  const auto hits = store_hits(trace);
  EXPECT_EQ(misses.samples.size() + hits.size(), trace.samples.size());
  const auto written = written_share(classes, misses, misses, hits);
  const auto read = classes.of({0, 0, 0x10});
  const auto updated = classes.of({0, 0, 0x20});
  EXPECT_EQ(written[read], 0);
  // From half of the runs' hits and all of their lines: twice the trace.
  EXPECT_NEAR(written[updated], 0.5, 0.05);
  const auto both = written_share(classes, misses, Trace(), hits);
  EXPECT_GT(both[updated], 0.8);
  learn_link_lines(misses, misses, two_tiers(), classes, both);
  EXPECT_EQ(classes.all()[read].back, 0);
  EXPECT_NEAR(classes.all()[updated].back, 0.9, 0.1);
}

// Both are written somewhere, one by far more stores: sequences tell by line.
TEST(StoreHits, InSequenceTellOfEachLine) {
  Trace trace = updates(false);
  AccessSequence sequence;
  for (Address i = 0; i < 1000; ++i) {
    const bool updated = i % 2 == 0;
    const Address at = (updated ? kUpdated : kRead) + i * 8192;
    sequence.accesses.push_back({at, updated ? 0x20U : 0x10U, 10});
    if (!updated && i % 10 != 1) continue;
    sequence.accesses.push_back({at + 8, 0x30, 1, Access::kStore, Source::kL1});
  }
  trace.sequences.push_back(sequence);
  AccessClasses classes(trace, trace);
  const auto read = classes.of({0, 0, 0x10});
  const auto updated = classes.of({0, 0, 0x20});
  const auto written = written_in_sequences(classes, trace);
  EXPECT_NEAR(written[updated], 1, 1e-9);
  EXPECT_NEAR(written[read], 0.2, 0.01);
  learn_link_lines(trace, trace, two_tiers(), classes, {});
  EXPECT_NEAR(classes.all()[updated].back, 0.9, 0.1);
  EXPECT_LT(classes.all()[read].back, 0.2);
  for (AccessSequence& one : trace.sequences) {
    std::erase_if(one.accesses, [](const SequencedAccess& access) {
      return access.source == Source::kL1;
    });
  }
  EXPECT_LT(written_in_sequences(classes, trace)[updated], 0);
}

// Without them, which of the two it is nothing tells.
TEST(StoreHits, AreMissed) {
  const Trace trace = updates(false);
  AccessClasses classes(trace, trace);
  learn_link_lines(trace, trace, two_tiers(), classes);
  EXPECT_NEAR(classes.all()[classes.of({0, 0, 0x10})].back, 0.5, 0.15);
}

}  // namespace
}  // namespace thermocline
