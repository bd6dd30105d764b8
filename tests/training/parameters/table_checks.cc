#include "tests/training/parameters/table_checks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "training/parameters/adarevision.h"

namespace thermocline {
namespace {

constexpr std::int64_t kRows = 7;
constexpr std::int64_t kColumns = 3;

// Some additions, differing in size so that their order shows in the sum.
std::vector<float> change(std::span<const float> row, int rank,
                          std::int64_t clock, std::int64_t i) {
  std::vector<float> out;
  for (std::size_t k = 0; k < row.size(); ++k) {
    out.push_back(0.37F * static_cast<float>(rank + 1) -
                  0.11F * static_cast<float>(clock * i % 5) -
                  0.013F * row[k] * static_cast<float>(k + 1));
  }
  return out;
}

}  // namespace

void check_bound(Ranks& ranks, std::int64_t staleness, std::int64_t hold) {
  TableOptions options;
  options.rows = 5;
  options.columns = 2;
  options.staleness = staleness;
  options.hold = hold;
  auto table = ParameterTable::make(ranks, options);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  const std::vector<float> one{1.0F, 1.0F};
  constexpr std::int64_t kClocks = 40;
  for (std::int64_t clock = 0; clock < kClocks; ++clock) {
    for (const std::int64_t row : {0, 4}) {
      const auto seen = table->row(row);
      ASSERT_TRUE(seen.has_value()) << seen.error().message;
      const std::int64_t others = std::max<std::int64_t>(0, clock - staleness);
      // Its own at once, and of each other rank what the bound asks for.
      const auto least =
          static_cast<float>(clock + others * (ranks.size() - 1));
      EXPECT_GE((*seen)[0], least) << "clock " << clock;
      EXPECT_EQ((*seen)[0], (*seen)[1]);
      table->add(row, one);
    }
    if ((clock * 7 + ranks.rank() * 3) % 10 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // Room for one of the two rows.
    ASSERT_TRUE(table->communicate(16).has_value());
    ASSERT_TRUE(table->tick().has_value());
  }
  EXPECT_LE(table->stats().furthest_ahead, staleness);
  const auto whole = table->whole();
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ((*whole)[0], static_cast<float>(kClocks * ranks.size()));
  EXPECT_EQ((*whole)[9], static_cast<float>(kClocks * ranks.size()));
  EXPECT_EQ((*whole)[2], 0.0F);
}

void check_bulk_synchronous(Ranks& ranks) {
  TableOptions options;
  options.rows = kRows;
  options.columns = kColumns;
  auto table = ParameterTable::make(ranks, options);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  std::vector<float> reference(kRows * kColumns, 0.25F);
  ASSERT_TRUE(table->fill(reference).has_value());
  for (std::int64_t clock = 0; clock < 25; ++clock) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      if ((i + clock + ranks.rank()) % 3 == 0) continue;
      const auto row = table->row(i);
      ASSERT_TRUE(row.has_value());
      table->add(i, change(*row, ranks.rank(), clock, i));
    }
    ASSERT_TRUE(table->tick().has_value());
    const std::vector<float> before = reference;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      for (std::int64_t i = 0; i < kRows; ++i) {
        if ((i + clock + rank) % 3 == 0) continue;
        const auto at = static_cast<std::size_t>(i * kColumns);
        const auto delta =
            change(std::span(before).subspan(at, kColumns), rank, clock, i);
        for (std::size_t k = 0; k < kColumns; ++k) {
          reference[at + k] += delta[k];
        }
      }
    }
  }
  const auto whole = table->whole();
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(*whole, reference);
}

void check_revision(Ranks& ranks) {
  TableOptions options;
  options.rows = kRows;
  options.columns = kColumns;
  options.step = 0.3;
  auto table = ParameterTable::make(ranks, options);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  std::vector<AdaRevision> steps(kRows, {kColumns, 0.3F});
  std::vector<float> values(kRows * kColumns, 0.5F);
  ASSERT_TRUE(table->fill(values).has_value());
  for (std::int64_t clock = 0; clock < 12; ++clock) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const auto row = table->row(i);
      ASSERT_TRUE(row.has_value()) << row.error().message;
      const auto mine =
          std::span(values).subspan(static_cast<std::size_t>(i) * kColumns,
                                    static_cast<std::size_t>(kColumns));
      const std::vector<float> before(mine.begin(), mine.end());
      ASSERT_TRUE(std::equal(row->begin(), row->end(), before.begin()))
          << "clock " << clock << " row " << i;
      table->add(i, change(before, ranks.rank(), clock, i));
      // What the ranks do one after another at the end of the clock.
      auto& step = steps[static_cast<std::size_t>(i)];
      const std::vector<float> seen = step.sum();
      for (int r = 0; r < ranks.size(); ++r) {
        step.apply(change(before, r, clock, i), seen, mine);
      }
    }
    ASSERT_TRUE(table->tick().has_value());
  }
}

void check_late_revision(Ranks& ranks) {
  TableOptions options;
  options.rows = 3;
  options.columns = 2;
  options.staleness = 6;
  options.hold = 3;
  options.step = 0.5;
  auto table = ParameterTable::make(ranks, options);
  ASSERT_TRUE(table.has_value()) << table.error().message;
  for (int clock = 0; clock < 60; ++clock) {
    for (std::int64_t i = 0; i < options.rows; ++i) {
      const auto row = table->row(i);
      ASSERT_TRUE(row.has_value()) << row.error().message;
      table->add(i, std::vector<float>{(*row)[0] - 1, 4 * ((*row)[1] + 2)});
    }
    ASSERT_TRUE(table->communicate(100).has_value());
    ASSERT_TRUE(table->tick().has_value());
  }
  const auto whole = table->whole();
  ASSERT_TRUE(whole.has_value());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR((*whole)[2 * i], 1, 0.1);
    EXPECT_NEAR((*whole)[2 * i + 1], -2, 0.1);
  }
}

}  // namespace thermocline
