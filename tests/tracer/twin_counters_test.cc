// Records of twin counters, put together.
#include "tracer/twin_counters.h"

#include <gtest/gtest.h>

#include "tracer/sequence_builder.h"

namespace thermocline {
namespace {

constexpr std::size_t kFew = SequenceBuilder::kFewest;

// The access number `n` of event `event`, seen by `twin`.
TwinRecord record(std::uint64_t n, std::size_t twin, std::size_t event = 0) {
  TwinRecord made;
  made.access.address = 0x1000 * n;
  made.access.ip = 0x400000 + event;
  made.access.time = static_cast<Nanos>(100 + n);
  made.access.thread = 7;
  made.access.cpu = 3;
  made.access.access = event == 0 ? Access::kLoad : Access::kStore;
  made.pid = 6;
  made.instructions = 10 * n;
  made.event = event;
  made.twin = twin;
  made.counted = n;
  return made;
}

std::vector<TwinRecord> in_turn(std::uint64_t count) {
  std::vector<TwinRecord> records;
  for (std::uint64_t n = 1; n <= count; ++n)
    records.push_back(record(n, n % 2));
  return records;
}

// As if each twin had counted the records of its event, and no more.
void count_records(std::vector<TwinRecord>& records) {
  std::uint64_t counted[2] = {0, 0};
  for (auto& one : records) one.counted = ++counted[one.event];
}

TEST(TwinCounters, RecordsInTurnAreWhole) {
  const auto seen = merge_twins(in_turn(42), {0, {1000}});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->pid, 6u);
  EXPECT_EQ(seen->sequence.thread, 7u);
  EXPECT_EQ(seen->sequence.cpu, 3u);
  const auto& accesses = seen->sequence.accesses;
  ASSERT_EQ(accesses.size(), 40u) << "all but what came while they settled";
  EXPECT_EQ(seen->sequence.time, 103);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    EXPECT_EQ(accesses[i].address, 0x1000 * (i + 3));
    EXPECT_EQ(accesses[i].instructions, i == 0 ? 0u : 10u);
  }
}

TEST(TwinCounters, InTheSamePhaseHalfIsMissing) {
  std::vector<TwinRecord> records;
  for (std::uint64_t n = 1; n < 100; n += 2) {
    records.push_back(record(n, 0));
    records.push_back(record(n, 1));
  }
  EXPECT_FALSE(merge_twins(records, {0, {1000}}));
}

TEST(TwinCounters, OneTwinAloneHasHalf) {
  std::vector<TwinRecord> records;
  for (std::uint64_t n = 1; n < 100; n += 2) records.push_back(record(n, 0));
  EXPECT_FALSE(merge_twins(records, {0, {1000}}));
}

TEST(TwinCounters, ItEndsWhereARecordIsMissing) {
  auto records = in_turn(60);
  records.erase(records.begin() + 30);  // n == 31
  const auto seen = merge_twins(records, {0, {1000}});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->sequence.accesses.size(), 28u);
  EXPECT_EQ(seen->sequence.accesses.back().address, 0x1000u * 30);
  records.erase(records.begin() + 10);
  EXPECT_FALSE(merge_twins(records, {0, {1000}})) << "too short to tell";
}

TEST(TwinCounters, ItEndsWhereATwinHasStopped) {
  const auto seen = merge_twins(in_turn(60), {0, {15}});
  ASSERT_TRUE(seen);  // the odd ones' fifteenth
  EXPECT_EQ(seen->sequence.accesses.back().address, 0x1000u * 29);
}

TEST(TwinCounters, ItBeginsWhereTheyRunApart) {
  auto records = in_turn(60);
  for (std::size_t i = 0; i < 20; ++i) records[i].twin = 0;  // any nonsense
  const auto seen = merge_twins(records, {121, {1000}});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->sequence.accesses.front().address, 0x1000u * 23);
  EXPECT_FALSE(merge_twins(records, {160, {1000}}));
  EXPECT_FALSE(merge_twins({}, {0, {1000}}));
}

TEST(TwinCounters, LoadsAndStoresAreMergedInOrder) {
  std::vector<TwinRecord> records;  // in the ring one after the other
  for (std::uint64_t n = 1; n <= 60; n += 3)
    records.push_back(record(n, n % 2));
  std::size_t twin = 0;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    if (n % 3 != 1) records.push_back(record(n, twin++ % 2, 1));
  }
  count_records(records);
  const auto seen = merge_twins(records, {0, {1000, 1000}});
  ASSERT_TRUE(seen);
  const auto& accesses = seen->sequence.accesses;
  ASSERT_EQ(accesses.size(), 56u);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto n = i + 5;
    EXPECT_EQ(accesses[i].address, 0x1000 * n);
    EXPECT_EQ(accesses[i].access, n % 3 == 1 ? Access::kLoad : Access::kStore);
  }
}

TEST(TwinCounters, AMissingLoadEndsTheStoresToo) {
  std::vector<TwinRecord> records;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    records.push_back(record(n, n / 2 % 2, n % 2));
  }
  count_records(records);
  records.erase(records.begin() + 39);  // a load, n == 40
  const auto seen = merge_twins(records, {0, {1000, 1000}});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->sequence.accesses.back().address, 0x1000u * 38);
}

TEST(TwinCounters, StoresThatHitAreLeftOutTheirInstructionsNot) {
  auto records = in_turn(2 * kFew + 4);
  for (auto& one : records) {
    if (one.twin == 0) one.access.source = Source::kL1;
  }
  const auto seen = merge_twins(records, {0, {1000}});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sequence.accesses.size(), kFew + 1);
  EXPECT_EQ(seen->sequence.accesses[1].address, 0x1000u * 5);
  EXPECT_EQ(seen->sequence.accesses[1].instructions, 20u);
}

TEST(TwinCounters, InTurnButWithEveryThirdMissing) {
  std::vector<TwinRecord> records;
  for (std::uint64_t n = 0; n < 90; ++n) {
    if (n % 3 != 2) records.push_back(record(n, n % 3));
  }
  EXPECT_FALSE(merge_twins(records, {0, {1000}}));
  for (auto& one : records) one.counted = 0;
  EXPECT_TRUE(merge_twins(records, {0, {1000}})) << "only the count tells";
}

TEST(TwinCounters, OneInterruptForBothTwinsIsNoBreak) {
  auto records = in_turn(60);
  // 31 and 32 are written together, the wrong way round.
  records[31].instructions = records[30].instructions;
  std::swap(records[30].access.time, records[31].access.time);
  const auto seen = merge_twins(records, {0, {1000}});
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->sequence.accesses.size(), 58u);
  EXPECT_EQ(seen->sequence.accesses[28].address, 0x1000u * 31);
  EXPECT_EQ(seen->sequence.accesses[29].instructions, 0u);
}

}  // namespace
}  // namespace thermocline
