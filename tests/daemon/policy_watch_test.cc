#include "daemon/policy_watch.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

using News = PolicyWatch::News;

TEST(PolicyWatchTest, AFallbackThatDecidesIsToldOnce) {
  PolicyWatch watch;
  EXPECT_EQ(watch.see({{"replies", 3}, {"fallback_windows", 0}}), News::kNone);
  EXPECT_EQ(watch.see({{"fallback_windows", 1}}), News::kFallbackDecides);
  EXPECT_EQ(watch.see({{"fallback_windows", 2}}), News::kNone);
  EXPECT_EQ(watch.see({{"fallback_windows", 2}}), News::kNone);
  EXPECT_EQ(watch.see({{"fallback_windows", 3}}), News::kNone)
      << "one window is not long enough to work again";
  for (int i = 0; i < 300; ++i) watch.see({{"fallback_windows", 3}});
  EXPECT_EQ(watch.see({{"fallback_windows", 4}}), News::kFallbackDecides);
}

TEST(PolicyWatchTest, OneThatIsAskedNoMoreIsToldOnce) {
  PolicyWatch watch;
  EXPECT_EQ(watch.see({}), News::kNone);
  EXPECT_EQ(watch.see({{"asked_no_more", 1}}), News::kAskedNoMore);
  EXPECT_EQ(watch.see({{"asked_no_more", 1}}), News::kNone);
}

}  // namespace
}  // namespace thermocline
