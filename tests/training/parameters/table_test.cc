#include "training/parameters/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/training/parameters/table_checks.h"
#include "training/parameters/adarevision.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// --- what waits
// ----------------------------------------------------------------

std::vector<std::int64_t> rows(std::vector<PendingUpdates::Update> updates) {
  std::vector<std::int64_t> out;
  for (const auto& update : updates) out.push_back(update.row);
  return out;
}

PendingUpdates filled(SendOrder order) {
  PendingUpdates out(order, 1);
  const std::vector<float> ten{10, 0};
  out.add(5, std::vector<float>{1, 0}, ten, 3);       // 0.1
  out.add(2, std::vector<float>{0, 0.5F}, ten, 4);    // 0.5, of nothing
  out.add(9, std::vector<float>{2, 0}, ten, 4);       // 0.2
  out.add(5, std::vector<float>{-2, 0.05F}, ten, 5);  // and 0.25
  return out;
}

TEST(PendingUpdates, GoByMagnitude) {
  PendingUpdates all = filled(SendOrder::kMagnitude);
  EXPECT_EQ(all.of(5)[0], -1.0F);  // joined
  EXPECT_EQ(all.of(5)[1], 0.05F);
  EXPECT_TRUE(all.of(7).empty());
  EXPECT_THAT(rows(all.take(-1, 2)), ElementsAre(2, 5));
  EXPECT_THAT(rows(all.take(-1, 2)), ElementsAre(9));
  EXPECT_EQ(all.size(), 0U);
}

TEST(PendingUpdates, GoByChange) {
  PendingUpdates all = filled(SendOrder::kChange);
  EXPECT_THAT(rows(all.take(-1, 2)), ElementsAre(9, 5));  // 2, 1.05
}

TEST(PendingUpdates, GoAsTheyCame) {
  PendingUpdates all = filled(SendOrder::kFifo);
  EXPECT_THAT(rows(all.take(-1, 2)), ElementsAre(5, 2));
}

TEST(PendingUpdates, GoAtRandomButEachOnce) {
  PendingUpdates all = filled(SendOrder::kRandom);
  auto out = rows(all.take(-1, 2));
  const auto last = rows(all.take(-1, 2));
  out.insert(out.end(), last.begin(), last.end());
  EXPECT_THAT(out, testing::UnorderedElementsAre(2, 5, 9));
}

TEST(PendingUpdates, WhatIsDueGoesWhateverTheRoom) {
  PendingUpdates all = filled(SendOrder::kMagnitude);
  EXPECT_THAT(rows(all.take(3, 0)), ElementsAre(5));  // first added to at 3
  EXPECT_THAT(rows(all.take(4, 1)), ElementsAre(2, 9));
}

// --- the table
// -----------------------------------------------------------------

class TableOverThreads : public testing::TestWithParam<int> {};

TEST_P(TableOverThreads, BulkSynchronousHasTheBitsOfASerialRun) {
  run_as_threads(GetParam(), check_bulk_synchronous);
}

TEST_P(TableOverThreads, NoReadIsStalerThanAllowed) {
  for (const std::int64_t staleness : {0, 1, 2, 4, 8}) {
    for (const std::int64_t hold :
         {std::int64_t{0}, staleness / 2, staleness}) {
      run_as_threads(GetParam(), [&](Ranks& ranks) {
        check_bound(ranks, staleness, hold);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, TableOverThreads, testing::Values(1, 2, 4));

TEST(ParameterTable, ARankThatStaysBehindIsNamed) {
  run_as_threads(2, [](Ranks& ranks) {
    TableOptions options;
    options.staleness = 1;
    options.wait_seconds = 0.1;
    auto table = ParameterTable::make(ranks, options);
    ASSERT_TRUE(table.has_value());
    if (ranks.rank() == 0) {
      for (int clock = 0; clock < 2; ++clock) {
        EXPECT_TRUE(table->row(0).has_value());
        EXPECT_TRUE(table->tick().has_value());
      }
      const auto seen = table->row(0);
      ASSERT_FALSE(seen.has_value());
      EXPECT_THAT(seen.error().message, HasSubstr("rank 1 is at clock 0"));
    }
    ASSERT_TRUE(ranks.barrier().has_value());
  });
}

TEST(ParameterTable, BadOptionsAreNamed) {
  const auto ranks = single_rank();
  TableOptions options;
  options.order = "loudest";
  EXPECT_THAT(ParameterTable::make(*ranks, options).error().message,
              HasSubstr("magnitude change fifo random"));
  options.order = "fifo";
  options.hold = 1;
  EXPECT_THAT(ParameterTable::make(*ranks, options).error().message,
              HasSubstr("staleness 0"));
  options.rows = 0;
  EXPECT_FALSE(ParameterTable::make(*ranks, options).has_value());
}

// --- step sizes
// ----------------------------------------------------------------

TEST(ParameterTable, TakesGradientsByAdaRevision) {
  for (const int ranks : {1, 2, 4}) {
    run_as_threads(ranks, check_revision);
    run_as_threads(ranks, check_late_revision);
  }
}

TEST(AdaRevision, WithoutDelayIsAdaGrad) {
  constexpr float kStep = 0.3F;
  AdaRevision steps(1, kStep);
  std::vector<float> x{2.0F};
  float y = 2.0F;
  float squares = 1.0F;
  for (int i = 0; i < 50; ++i) {
    const float g = 3 * (y - 1);
    squares += g * g;
    y += -(kStep / std::sqrt(squares)) * g;
    const std::vector<float> gradient{3 * (x[0] - 1)};
    const std::vector<float> seen = steps.sum();
    steps.apply(gradient, seen, x);
    ASSERT_EQ(x[0], y) << i;
  }
}

// x^2 / 2 * 10 with gradients that are 8 steps old.
TEST(AdaRevision, ConvergesLateWhereAFixedStepDiverges) {
  constexpr std::size_t kDelay = 8;
  struct Late {
    std::vector<float> gradient;
    std::vector<float> seen;
  };
  const auto last = [](bool revise) {
    AdaRevision steps(1, 0.3F);
    std::vector<float> x{1.0F};
    std::vector<Late> way;
    for (std::size_t i = 0; i < 2000; ++i) {
      way.push_back({{10 * x[0]}, steps.sum()});
      if (i < kDelay) continue;
      const Late& one = way[i - kDelay];
      if (revise) {
        steps.apply(one.gradient, one.seen, x);
      } else {
        x[0] -= 0.03F * one.gradient[0];
      }
      if (!(std::abs(x[0]) < 1e20F)) break;
    }
    return std::abs(x[0]);
  };
  EXPECT_GT(last(false), 1e3F);  // a tenth of the step, and yet
  EXPECT_LT(last(true), 0.05F);
}

}  // namespace
}  // namespace thermocline
