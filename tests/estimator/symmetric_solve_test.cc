#include "estimator/symmetric_solve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace thermocline {
namespace {

TEST(SymmetricSolve, FindsWhatTheEquationsWereMadeOf) {
  std::vector<double> a = {4, 2, 1, 2, 5, 3, 1, 3, 6};
  std::vector<double> x = {4 - 4 + 3, 2 - 10 + 9, 1 - 6 + 18};
  solve_symmetric(a, x);
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_NEAR(x[1], -2, 1e-12);
  EXPECT_NEAR(x[2], 3, 1e-12);
}

TEST(SymmetricSolve, OfOneAndOfNone) {
  std::vector<double> a = {4};
  std::vector<double> x = {2};
  solve_symmetric(a, x);
  EXPECT_EQ(x[0], 0.5);
  solve_symmetric({}, {});
}

TEST(SymmetricSolve, WhatIsNotFiniteIsNotHidden) {
  std::vector<double> a = {std::numeric_limits<double>::infinity(), 1, 1, 2};
  std::vector<double> x = {std::nan(""), 1};
  solve_symmetric(a, x);
  EXPECT_FALSE(std::isfinite(x[0]));
}

}  // namespace
}  // namespace thermocline
