#include "policies/heat_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "policies/tier_use.h"
#include "tests/policies/views.h"

namespace thermocline {
namespace {

// Objects come and go, move and grow: what the log adds up as they do is what a
// look at all of them finds.
TEST(HeatLog, ColumnsAreWhatTheLastViewSaid) {
  std::mt19937_64 random(5);
  HandView hand({1000, 2000, 4000});
  HeatLog log;
  for (int window = 0; window < 300; ++window) {
    hand.objects.resize(random() % 40);
    for (std::size_t i = 0; i < hand.objects.size(); ++i) {
      ObjectView& one = hand.objects[i];
      one.id = static_cast<ObjectId>(i);
      if (random() % 4 != 0) continue;
      one.bytes = random() % 3 == 0 ? 0 : random() % 5000;
      one.tier = static_cast<TierId>(random() % 4);  // the last does not exist
      one.movable = random() % 2 == 0;
      one.loads = static_cast<double>(random() % 3);
    }
    const View view{window, 10'000'000, 0, hand.objects, hand.tiers};
    log.see(view);
    const ObjectColumns columns = log.columns();
    ASSERT_TRUE(std::ranges::equal(columns.used, tier_use(view))) << window;
    std::vector<ObjectId> touched;
    for (const ObjectView& one : view.objects) {
      EXPECT_EQ(columns.bytes[one.id], one.bytes);
      EXPECT_EQ(columns.tier[one.id], one.tier);
      EXPECT_EQ(columns.movable[one.id] != 0, one.movable && one.bytes > 0);
      if (one.loads > 0) touched.push_back(one.id);
    }
    for (std::size_t i = view.objects.size(); i < log.size(); ++i) {
      EXPECT_EQ(columns.bytes[i], 0U);
    }
    EXPECT_TRUE(std::ranges::equal(log.touched(), touched, {},
                                   &HeatLog::Touched::object));
  }
}

}  // namespace
}  // namespace thermocline
