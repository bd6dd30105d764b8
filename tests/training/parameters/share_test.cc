// Updates within a bandwidth that others use, too.
#include <gtest/gtest.h>

#include "tests/training/scarce_bandwidth.h"
#include "training/parameters/table.h"
#include "training/ranks/thread_ranks.h"

namespace thermocline {
namespace {

TEST(SharedTable, SendsWhatItIsGrantedAndKeepsTheBound) {
  const auto ranks = single_rank();
  TableOptions options;
  options.rows = 100;
  options.columns = 4;  // 16 bytes a row, 32 to send and read back
  options.staleness = 4;
  options.hold = 2;
  auto table = ParameterTable::make(*ranks, options);
  ASSERT_TRUE(table) << table.error().message;
  ScarceBandwidth bandwidth(3 * 32 + 7);
  table->share(bandwidth);
  const std::vector<float> delta(4, 1.0F);
  for (std::int64_t row = 0; row < 10; ++row) {
    ASSERT_TRUE(table->row(row));
    table->add(row, delta);
  }
  EXPECT_EQ(*table->communicate(1000), 3 * 32);
  EXPECT_EQ(bandwidth.use().taken, 3u * 32) << "what was not used is back";
  EXPECT_EQ(*table->communicate(1000), 0);
  for (int clock = 0; clock < 4; ++clock) ASSERT_TRUE(table->tick());
  // The bound asked for the other seven.
  EXPECT_EQ(bandwidth.waited_for, 7u * 16);
  EXPECT_EQ((*table->now())[9 * 4], 1.0F);
}

TEST(SharedTable, InBulkAllWaitsForItsTurn) {
  const auto ranks = single_rank();
  TableOptions options;
  options.rows = 10;
  options.columns = 4;
  auto table = ParameterTable::make(*ranks, options);
  ASSERT_TRUE(table);
  ScarceBandwidth bandwidth(0);
  table->share(bandwidth);
  ASSERT_TRUE(table->row(3));
  table->add(3, std::vector<float>(4, 1.0F));
  ASSERT_TRUE(table->tick());
  EXPECT_EQ(bandwidth.waited_for, 16u);
}

}  // namespace
}  // namespace thermocline
