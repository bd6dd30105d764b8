// CBC's optima against another solver's: GLPK, which shares no code with it.
#include "policies/mip.h"

#include <glpk.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policies/tensor_ilp.h"
#include "tests/policies/random_jobs.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using Moves = TensorIlp::Moves;

double by_glpk(const Mip& mip) {
  glp_term_out(GLP_OFF);
  glp_prob* problem = glp_create_prob();
  glp_add_cols(problem, static_cast<int>(mip.cost.size()));
  for (std::size_t i = 0; i < mip.cost.size(); ++i) {
    glp_set_col_kind(problem, static_cast<int>(i) + 1, GLP_BV);
    glp_set_obj_coef(problem, static_cast<int>(i) + 1, mip.cost[i] / 1e3);
  }
  glp_set_obj_coef(problem, 0, mip.constant / 1e3);
  glp_add_rows(problem, static_cast<int>(mip.rows.size()));
  for (std::size_t r = 0; r < mip.rows.size(); ++r) {
    const Mip::Row& row = mip.rows[r];
    std::vector<int> columns{0};
    std::vector<double> factors{0};
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      columns.push_back(row.columns[i] + 1);
      factors.push_back(row.factors[i]);
    }
    const int at = static_cast<int>(r) + 1;
    glp_set_mat_row(problem, at, static_cast<int>(row.columns.size()),
                    columns.data(), factors.data());
    const bool both = std::isfinite(row.least);
    glp_set_row_bnds(problem, at, both ? GLP_DB : GLP_UP, row.least, row.most);
  }
  glp_iocp options;
  glp_init_iocp(&options);
  options.presolve = GLP_ON;
  options.tm_lim = 20'000;
  EXPECT_EQ(glp_intopt(problem, &options), 0);
  EXPECT_EQ(glp_mip_status(problem), GLP_OPT);
  const double out = glp_mip_obj_val(problem) * 1e3;
  glp_delete_prob(problem);
  return out;
}

TEST(Mip, TwoSolversAgreeOnJobsOfTensors) {
  for (unsigned seed = 100; seed < 112; ++seed) {
    const auto step =
        Iteration::from_trace(random_job(seed, 12, 16), two_tiers());
    ASSERT_TRUE(step) << step.error().message;
    const auto fast =
        static_cast<Bytes>(0.4 * static_cast<double>(step->peak_bytes()));
    const std::vector<Bytes> limits(step->operators(), fast);
    for (const auto moves :
         {Moves::kNone, Moves::kPages, Moves::kKeepingCopies}) {
      const TensorIlp ilp(*step, {{fast, Bytes{1} << 40}}, limits, moves);
      const auto answer = solve(ilp.mip(), {}, {20, 0});
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_TRUE(feasible(ilp.mip(), answer->values));
      const double other = by_glpk(ilp.mip());
      EXPECT_NEAR(answer->cost, other, 1e-6 * other) << seed;
      EXPECT_LE(answer->gap(), 1e-6);
    }
  }
}

// Two of three, the two cheapest together.
Mip two_of_three() {
  Mip mip;
  mip.cost = {-3, -2, -2};
  mip.constant = 10;
  mip.rows = {{{0, 1, 2}, {3, 2, 2}, 0, 4}};
  return mip;
}

TEST(Mip, TakesTheBestAndSaysHowGood) {
  const auto answer = solve(two_of_three(), {}, {10, 0});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->values, (std::vector<std::uint8_t>{0, 1, 1}));
  EXPECT_NEAR(answer->cost, 6, 1e-9);
  EXPECT_NEAR(answer->bound, 6, 1e-5);
}

TEST(Mip, IsNeverWorseThanItsStart) {
  const auto answer = solve(two_of_three(), {0, 1, 1}, {0, 1});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_NEAR(answer->cost, 6, 1e-9);
  // One that breaks a row is no start.
  const auto other = solve(two_of_three(), {1, 1, 1}, {10, 0});
  ASSERT_TRUE(other);
  EXPECT_NEAR(other->cost, 6, 1e-9);
}

TEST(Mip, SaysThatThereIsNoAnswer) {
  Mip mip = two_of_three();
  mip.rows.push_back({{0, 1}, {1, 1}, 2, 2});
  const auto answer = solve(mip, {}, {10, 0});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("no placement"));
}

TEST(Mip, WithoutColumnsThereIsNothingToDecide) {
  const auto answer = solve({{}, 5, {}}, {}, {10, 0});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost, 5);
}

}  // namespace
}  // namespace thermocline
