// What a table tells of its rows: the accesses of all ranks, where they lie.
#include "training/parameters/row_heat.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/training/placement_listener.h"
#include "training/parameters/table.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

constexpr std::size_t kGranule = 64 * 1024;

TEST(RowHeat, IsToldWhereTheRowsLie) {
  run_as_threads(3, [](Ranks& ranks) {
    // They begin 100 bytes into 64 KiB, and end as long before the end of the
    // third.
    const std::vector<std::byte> memory(4 * kGranule);
    const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t boundary = kGranule - start % kGranule;
    const auto rows =
        std::span(memory).subspan(boundary + 100, 3 * kGranule - 200);
    KeptAccesses kept;
    kept.is_due = false;
    auto heat = RowHeat::make(ranks, rows, kept);
    ASSERT_TRUE(heat) << heat.error().message;
    // Each rank reads 2 lines of the middle of rank 1, and changes 1 at the
    // end.
    heat->read(1, kGranule + 5, 128);
    heat->changed(1, 2 * kGranule, 8);
    ASSERT_TRUE(heat->tell());
    EXPECT_TRUE(kept.told.empty()) << "not due yet";
    kept.is_due = true;
    ASSERT_TRUE(ranks.barrier());
    if (ranks.rank() != 1) {
      ASSERT_TRUE(heat->tell());
    }
    ASSERT_TRUE(ranks.barrier());
    ASSERT_TRUE(heat->tell());
    ASSERT_TRUE(ranks.barrier());
    if (ranks.rank() != 1) {
      for (const auto& one : kept.told) EXPECT_TRUE(one.empty());
      return;
    }
    ASSERT_EQ(kept.told.size(), 1u);
    ASSERT_EQ(kept.told[0].size(), 2u);
    const auto& middle = kept.told[0][0];
    EXPECT_EQ(middle.memory, rows.data() + kGranule - 100);
    EXPECT_EQ(middle.bytes, kGranule);
    EXPECT_EQ(middle.loads, 6);
    EXPECT_EQ(middle.stores, 0);
    const auto& end = kept.told[0][1];
    EXPECT_EQ(end.bytes, kGranule - 100);
    EXPECT_EQ(end.stores, 3);
    // Told once: nothing is left.
    ASSERT_TRUE(heat->tell());
    EXPECT_TRUE(kept.told[1].empty());
  });
}

TEST(TableHeat, CountsWhatIsFetchedAndSent) {
  run_as_threads(2, [](Ranks& ranks) {
    TableOptions options;
    options.rows = 4096;
    options.columns = 16;  // a cache line
    std::vector<std::byte> memory(ParameterTable::bytes_here(ranks, options));
    ASSERT_EQ(memory.size(), 2048u * 64);
    KeptAccesses kept;
    auto table = ParameterTable::make(ranks, options, memory);
    ASSERT_TRUE(table) << table.error().message;
    ASSERT_TRUE(table->tell_heat(kept));
    const std::vector<float> delta(16, 1.0F);
    // Row 0 of rank 0 is used each clock, one of rank 1 once.
    for (int clock = 0; clock < 4; ++clock) {
      ASSERT_TRUE(table->row(0));
      table->add(0, delta);
      if (clock == 0) {
        ASSERT_TRUE(table->row(4000));
      }
      ASSERT_TRUE(table->tick());
    }
    // What the other rank counted last may come after our last tick.
    ASSERT_TRUE(ranks.barrier());
    ASSERT_TRUE(table->tick());
    ASSERT_TRUE(table->tick());
    double loads = 0;
    double stores = 0;
    for (const auto& one : kept.told) {
      for (const auto& touch : one) {
        EXPECT_GE(touch.memory, memory.data());
        EXPECT_LE(touch.memory + touch.bytes, memory.data() + memory.size());
        loads += touch.loads;
        stores += touch.stores;
      }
    }
    EXPECT_EQ(loads, ranks.rank() == 0 ? 8 : 2);
    EXPECT_EQ(stores, ranks.rank() == 0 ? 8 : 0);
    float value = 0;
    std::memcpy(&value, memory.data(), sizeof value);
    if (ranks.rank() == 0) {
      EXPECT_EQ(value, 8.0F) << "rows are where they should be";
    }
  });
}

TEST(TableHeat, TooLittleMemoryIsRefusedOnAllRanks) {
  run_as_threads(2, [](Ranks& ranks) {
    TableOptions options;
    options.rows = 100;
    options.columns = 4;
    std::vector<std::byte> memory(ranks.rank() == 0 ? 8 : 800);
    const auto table = ParameterTable::make(ranks, options, memory);
    ASSERT_FALSE(table);
    EXPECT_EQ(table.error().code, Error::Code::kInvalid);
    const char* said =
        ranks.rank() == 0 ? ": 8 of 800 bytes" : "rank 0 gives too little";
    EXPECT_NE(table.error().message.find(said), std::string::npos)
        << table.error().message;
  });
}

}  // namespace
}  // namespace thermocline
