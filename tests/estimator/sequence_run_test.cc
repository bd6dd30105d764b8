// Accesses in the order in which they were made, and who waits for whom.
#include "estimator/sequence_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "estimator/sequence_fit.h"

namespace thermocline {
namespace {

constexpr Address kPage = 4096;

// 10 and 40 ns a line, 100 and 300 ns idle; half a nanosecond an instruction.
AccessShape load() {
  AccessShape shape;
  shape.work_ns = 1;
  shape.instructions = 2;
  shape.read_ns = {10, 40};
  shape.latency_ns = {100, 300};
  return shape;
}
AccessShape chase() {
  AccessShape shape = load();
  shape.needed = 1;
  return shape;
}
AccessShape store() {
  AccessShape shape = load();
  shape.store = true;
  shape.written_ns = shape.back_ns = {15, 100};
  return shape;
}

// Each on a page of its own.
std::vector<OrderedAccess> scattered(std::size_t count, float instructions) {
  std::vector<OrderedAccess> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({0x1000000 + i * 7 * kPage, instructions, 0, true});
  }
  return out;
}
std::vector<OrderedAccess> in_order(std::size_t count) {
  std::vector<OrderedAccess> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back({0x1000000 + i * 64, 60, 0, true});
  }
  return out;
}

// Of one, in the long run. `tier`: by number of access.
template <typename Tier>
double ns_per_access(const std::vector<AccessShape>& shapes,
                     const std::vector<OrderedAccess>& accesses, Tier tier,
                     std::vector<SeenAccesses>* seen = nullptr) {
  if (seen != nullptr) seen->assign(shapes.size(), {});
  SequenceRun run(
      shapes, seen != nullptr ? std::span(*seen) : std::span<SeenAccesses>());
  double before = 0;
  for (int pass = 0; pass < 2; ++pass) {
    before = run.now();
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      run.add(accesses[i], tier(i));
    }
  }
  return (run.now() - before) / static_cast<double>(accesses.size());
}
std::size_t fast(std::size_t) { return 0; }
std::size_t slow(std::size_t) { return 1; }

TEST(SequenceRun, AChaseWaitsForEach) {
  const auto accesses = scattered(500, 4);
  EXPECT_NEAR(ns_per_access({chase()}, accesses, slow), 302, 2);
  EXPECT_NEAR(ns_per_access({chase()}, accesses, fast), 102, 2);
}

TEST(SequenceRun, WhatIsNotNeededWaitsForTheLink) {
  EXPECT_NEAR(ns_per_access({load()}, scattered(500, 4), slow), 40, 2);
}

// Two misses a window: half of the latency each.
TEST(SequenceRun, WhatIsExecutedInBetweenFillsTheWindow) {
  EXPECT_NEAR(ns_per_access({load()}, scattered(500, 129), fast),
              (100 + 129 * 0.5 * 2) / 2 - 129 * 0.25, 35);
  EXPECT_NEAR(ns_per_access({load()}, scattered(500, 1000), fast), 500, 5);
}

// What lies in a row is fetched ahead: no latency is waited for.
TEST(SequenceRun, LinesInARowAreFetchedAhead) {
  std::vector<SeenAccesses> in_row, apart;
  const double row = ns_per_access({chase()}, in_order(640), fast, &in_row);
  const double far = ns_per_access({chase()}, scattered(640, 60), fast, &apart);
  EXPECT_LT(row, 40);
  EXPECT_GE(far, 100);
  EXPECT_LT(in_row[0].latency.count, apart[0].latency.count / 3);
}

TEST(SequenceRun, WhatACacheHadCostsNothing) {
  auto accesses = scattered(500, 4);
  for (auto& one : accesses) one.missed = false;
  EXPECT_NEAR(ns_per_access({chase()}, accesses, slow), 2, 0.01);
}

// Every other chased line fast: the mean, exactly the job's own order.
TEST(SequenceRun, EachAccessLiesWhereItLies) {
  const auto accesses = scattered(500, 4);
  EXPECT_NEAR(
      ns_per_access({chase()}, accesses, [](std::size_t i) { return i % 2; }),
      202, 2);
}

// Two links carry more than one.
TEST(SequenceRun, AMixCanBeatBothEndpoints) {
  AccessShape even = load();
  even.read_ns = {40, 40};
  even.latency_ns = {100, 100};
  const auto accesses = scattered(500, 4);
  const double one = ns_per_access({even}, accesses, fast);
  EXPECT_LT(
      ns_per_access({even}, accesses, [](std::size_t i) { return i % 2; }),
      one * 0.6);
}

TEST(SequenceRun, StoresArePostedUntilTheirLinesGoBack) {
  const auto accesses = scattered(2000, 4);
  EXPECT_NEAR(ns_per_access({store()}, accesses, slow), 140, 4);
  // Ten fills at a time.
  AccessShape clean = store();
  clean.written_ns = clean.back_ns = {};
  clean.read_ns = {1, 1};
  EXPECT_NEAR(ns_per_access({clean}, accesses, slow), 30, 2);
}

// Dirty lines of slow memory go out first: no more of them wait than 32.
TEST(SequenceRun, LinesOnTheirWayOutHoldUpThoseThatComeIn) {
  std::vector<OrderedAccess> accesses;
  for (const OrderedAccess& one : scattered(1000, 4)) {
    OrderedAccess dirty = one;
    dirty.kind = 1;
    dirty.address += Address{1} << 40;
    accesses.push_back(one);
    accesses.push_back(dirty);
  }
  AccessShape dirty = load();
  dirty.written_ns = dirty.back_ns = {15, 100};
  // Clean ones are fast, dirty ones slow: as many as the slow link takes.
  EXPECT_NEAR(ns_per_access({load(), dirty}, accesses,
                            [](std::size_t i) { return i % 2; }),
              70, 4);
}

// Of one class: a line that is written later goes back, another does not.
TEST(SequenceRun, WhatIsWrittenGoesBack) {
  AccessShape shape = load();
  shape.back_ns = {15, 100};
  auto accesses = scattered(2000, 4);
  EXPECT_NEAR(ns_per_access({shape}, accesses, slow), 40, 2);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    accesses[i].written = i % 4 == 0;
  }
  EXPECT_NEAR(ns_per_access({shape}, accesses, slow), 40 + 100 / 4, 3);
}

// A stream that was under way goes on: nothing of it is waited for anew.
TEST(SequenceRun, AStreamThatWasUnderWayGoesOn) {
  const auto ns = [](int under_way) {
    std::vector<OrderedAccess> accesses;
    for (Address page = 0; page < 300; ++page) {
      for (Address line = 40; line < 48; ++line) {
        const Address at = 0x1000000 + page * 7 * kPage + line * 64;
        accesses.push_back({at, 20, 0, line != 40});
      }
      OrderedAccess& first = accesses[accesses.size() - 8];
      first.under_way = static_cast<std::int8_t>(under_way);
      first.missed = under_way == 0;
    }
    return ns_per_access({chase()}, accesses, fast);
  };
  EXPECT_LT(ns(40), 0.7 * ns(0));
}

OrderedSequence ordered(std::vector<SequencedAccess> accesses) {
  Trace trace;
  trace.sequences.push_back({5, 1, 0, std::move(accesses)});
  const auto out = ordered_sequences(trace, AccessClasses(trace, trace));
  return out.empty() ? OrderedSequence{} : out[0];
}

TEST(OrderedAccess, StoresThatOnlyWriteAreToldOfTheLinesThatTheyWrite) {
  const auto out = ordered({{0x1000, 1, 0},
                            {0x2000, 1, 5},
                            {0x1008, 2, 3, Access::kStore, Source::kL1},
                            {0x3000, 1, 4}});
  ASSERT_EQ(out.accesses.size(), 3u);
  EXPECT_TRUE(out.accesses[0].written);
  EXPECT_FALSE(out.accesses[1].written);
  EXPECT_EQ(out.accesses[2].instructions, 7);
  EXPECT_EQ(out.accesses[0].instructions, 6);  // as the others on average
}

TEST(OrderedAccess, AStreamIsUnderWayWhereItsFirstLineWasInTime) {
  const auto line = [](Address number, Source source = Source::kDram) {
    return SequencedAccess{0x10000 + number * 64, 1, 1, Access::kLoad, source};
  };
  const auto of = [](const OrderedSequence& sequence) {
    std::vector<int> out;
    for (const auto& one : sequence.accesses) out.push_back(one.under_way);
    return out;
  };
  using Lines = std::vector<int>;
  const Source ahead = Source::kL2;
  EXPECT_EQ(of(ordered({line(10, ahead), line(11, ahead), line(12, ahead)})),
            (Lines{10, 0, 0}));
  EXPECT_EQ(of(ordered({line(50, ahead), line(49), line(48)})),
            (Lines{-13, 0, 0}));
  EXPECT_EQ(of(ordered({line(10), line(11, ahead), line(12, ahead)})),
            (Lines{0, 0, 0}));
  EXPECT_EQ(of(ordered({line(10, ahead), line(30), line(50)})),
            (Lines{0, 0, 0}));
}

TEST(SequenceRun, TheSameCallsGiveTheSameTimes) {
  const auto accesses = scattered(300, 9);
  EXPECT_EQ(ns_per_access({load()}, accesses, slow),
            ns_per_access({load()}, accesses, slow));
}

// A chase and a gather in a row: runs of both tiers tell which is which.
TEST(SequenceFit, WhoIsWaitedForIsLearned) {
  std::mt19937 random(3);
  std::vector<OrderedSequence> sequences(60);
  Address at = 0x1000000;
  for (OrderedSequence& sequence : sequences) {
    for (int i = 0; i < 256; ++i) {
      at += 7 * kPage;
      const std::uint16_t kind = random() % 4 == 0 ? 0 : 1;
      sequence.accesses.push_back({at, 12, kind, true});
    }
  }
  const std::vector<AccessShape> truth{chase(), load()};
  std::vector<MissTimes> times(2);
  for (std::size_t t = 0; t < 2; ++t) {
    std::vector<SeenAccesses> seen(2);
    double ns = 0, misses = 0;
    for (const OrderedSequence& sequence : sequences) {
      SequenceRun run(truth, seen);
      for (int pass = 0; pass < 2; ++pass) {
        const double before = run.now();
        for (const auto& one : sequence.accesses) run.add(one, t);
        if (pass == 1) ns += run.now() - before;
      }
      misses += static_cast<double>(sequence.accesses.size());
    }
    for (std::size_t c = 0; c < 2; ++c) {
      times[c].miss_ns[t] = ns / misses;
      times[c].latency[t] = seen[c].latency;
      times[c].waited_ns[t] = seen[c].waited / seen[c].count;
      times[c].samples = times[c].misses = c == 0 ? 1000 : 3000;
    }
  }
  auto unknown = truth;
  for (AccessShape& shape : unknown) shape.needed = 0;
  const auto learned = fit_sequences(unknown, times, sequences, 1);
  EXPECT_GT(learned[0].needed, 0.75);
  EXPECT_LT(learned[1].needed, 0.15);
}

}  // namespace
}  // namespace thermocline
