#include "daemon/sources.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(Sources, RestAsLongOnAnEmulatedMachinesClock) {
  constexpr Nanos kMs = 1'000'000;
  EXPECT_EQ(rest_after(0, 1), 100 * kMs);
  EXPECT_EQ(rest_after(100, 1), 20 * kMs);
  EXPECT_EQ(rest_after(0, 16), 1600 * kMs);
  EXPECT_EQ(rest_after(100, 16), 320 * kMs);
  EXPECT_EQ(rest_after(1024, 16), 80 * kMs) << "four times as many, no more";
  EXPECT_EQ(rest_after(5000, 16), 0);
}

}  // namespace
}  // namespace thermocline
