#include "agent/wide_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace thermocline {
namespace {

// From 2^-60 to 2^60, 17 a power of two.
template <typename Check>
void for_many_numbers(const Check& check) {
  for (int i = -60 * 17; i <= 60 * 17; ++i) check(std::exp2(i / 17.0));
}

TEST(WideMath, LogarithmsAreRightToTheLastBitOfAFloat) {
  for_many_numbers([](double x) {
    EXPECT_EQ(static_cast<float>(wide::log1p(x)),
              static_cast<float>(std::log1p(x)))
        << x;
    EXPECT_NEAR(wide::log(x), std::log(x), 1e-15 * std::abs(std::log(x))) << x;
  });
  EXPECT_EQ(wide::log1p(0), 0);
  EXPECT_EQ(wide::log(1), 0);
  EXPECT_TRUE(std::isfinite(wide::log1p(std::numeric_limits<double>::max())));
}

TEST(WideMath, PowersAreRightWithinAFewBits) {
  for (int i = -8'000; i <= 8'000; ++i) {
    const float x = static_cast<float>(i) / 100;
    const float e = std::exp(x);
    EXPECT_NEAR(wide::exp(x), e, 3e-7F * e) << x;
    EXPECT_NEAR(wide::expm1(x), std::expm1(x), 3e-7F * std::abs(std::expm1(x)))
        << x;
  }
  for_many_numbers([](double x) {
    const auto small = static_cast<float>(std::min(x, 1.0));
    const float exact = std::expm1(small);
    EXPECT_NEAR(wide::expm1(small), exact, 3e-7F * exact) << small;
  });
  for (int i = -32; i <= 32; ++i) {
    const float x = static_cast<float>(i) / 4;
    EXPECT_NEAR(wide::exp2(x), std::exp2(x), 1e-6F * std::exp2(x)) << x;
  }
}

TEST(WideMath, PowersHaveAnEnd) {
  for (const float x :
       {100.0F, 1e30F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(wide::exp(x), wide::exp(87.0F));
    EXPECT_EQ(wide::exp(-x), wide::exp(-87.0F));
    EXPECT_GT(wide::exp(-x), 0);
    EXPECT_NEAR(wide::expm1(-x), -1, 1e-6);
  }
}

}  // namespace
}  // namespace thermocline
