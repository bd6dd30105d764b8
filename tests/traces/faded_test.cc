#include "traces/faded.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thermocline {
namespace {

template <typename Number>
Number after(int windows) {
  Number average = 1e6;
  for (int w = 0; w < windows; ++w) {
    average = faded(average - average / 8);
    EXPECT_TRUE(average == 0 || std::isnormal(average)) << w;
  }
  return average;
}

TEST(Faded, IsAsItWasAndThenNothing) {
  EXPECT_EQ(faded(0.25), 0.25);
  EXPECT_EQ(faded(0.0F), 0.0F);
  EXPECT_GT(after<float>(500), 0);
  EXPECT_EQ(after<float>(1'000), 0);
  EXPECT_GT(after<double>(500), 0);
  EXPECT_EQ(after<double>(1'000), 0);
}

}  // namespace
}  // namespace thermocline
