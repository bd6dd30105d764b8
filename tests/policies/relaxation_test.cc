// What the bounds and cuts of programs promise, against all answers.
#include "policies/relaxation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "policies/reduced_mip.h"
#include "policies/solver.h"

namespace thermocline {
namespace {

// Rows of memory with few sizes and one of them of a whole other kind, as
// tensors of equal layers have; some rows ask for a least as well.
Mip random_mip(unsigned seed, int columns) {
  std::mt19937 generator(seed);
  const auto below = [&](int n) {
    return static_cast<int>(generator() % static_cast<unsigned>(n));
  };
  Mip out;
  std::vector<double> size;
  for (int i = 0; i < columns; ++i) {
    out.cost.push_back(-1.0 - below(1000) / 10.0);
    size.push_back(below(3) + 1);
  }
  if (seed % 3 == 0) out.cost[0] = 5;
  out.constant = 2000;
  for (int r = 0; r < 4; ++r) {
    Mip::Row row;
    double all = 0;
    for (int i = 0; i < columns; ++i) {
      if (below(4) == 0) continue;
      row.columns.push_back(i);
      row.factors.push_back(size[static_cast<std::size_t>(i)]);
      all += row.factors.back();
    }
    row.most = std::floor(all * 0.4) + 0.5 * (seed % 2);
    if (r == 0 && seed % 5 == 0) row.least = 2;
    out.rows.push_back(row);
  }
  out.rows.push_back({{0, 1}, {1, -1}, 0, 1});
  return out;
}

Result<Relaxation> relaxed_by(const Mip& mip,
                              const std::function<bool()>& go_on) {
  const auto solver = load_solver();
  if (!solver) return solver.error();
  return (*solver)->relax(mip, 20, 0, go_on);
}

template <typename Act>
void each_answer(const Mip& mip, const Act& act) {
  std::vector<std::uint8_t> values(mip.cost.size());
  for (std::size_t set = 0; set < std::size_t{1} << values.size(); ++set) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = set >> i & 1;
    if (feasible(mip, values)) act(values);
  }
}

double best_cost(const Mip& mip) {
  double best = std::numeric_limits<double>::infinity();
  each_answer(mip, [&](const auto& values) {
    best = std::min(best, cost_of(mip, values));
  });
  return best;
}

TEST(Relaxation, ItsCutsAndSlopesHoldForEveryAnswer) {
  std::size_t cuts = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Mip mip = random_mip(seed, 12);
    const auto relaxed = relaxed_by(mip, [] { return true; });
    ASSERT_TRUE(relaxed) << seed << ": " << relaxed.error().message;
    Mip bare = mip;
    bare.rows = relaxed->cuts;
    each_answer(mip, [&](const auto& values) {
      ASSERT_TRUE(feasible(bare, values)) << seed;
      double least = relaxed->cost;
      for (std::size_t i = 0; i < values.size(); ++i) {
        least += relaxed->slope[i] * (values[i] - relaxed->values[i]);
      }
      ASSERT_GE(cost_of(mip, values), least - 1e-6) << seed;
    });
    cuts += relaxed->cuts.size();
  }
  EXPECT_GT(cuts, 100u);  // else nothing was tested
}

TEST(Relaxation, StopsWhenAsked) {
  const auto stopped = relaxed_by(random_mip(1, 12), [] { return false; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Error::Code::kInterrupted);
}

TEST(Relaxation, SaysThatRowsContradict) {
  Mip mip = random_mip(1, 12);
  mip.rows.push_back({{3}, {1}, 2, 3});
  const auto none = relaxed_by(mip, [] { return true; });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kInvalid);
}

TEST(ReducedMip, HasTheAnswersOfTheWholeThatKeepWhatIsFixed) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Mip mip = random_mip(seed, 10);
    std::mt19937 generator(seed);
    std::vector<std::int8_t> fixed(10, ReducedMip::kFree);
    for (auto& one : fixed) {
      const auto draw = generator() % 4;
      if (draw < 2) one = static_cast<std::int8_t>(draw);
    }
    std::vector<double> whole;
    each_answer(mip, [&](const auto& values) {
      for (std::size_t i = 0; i < fixed.size(); ++i) {
        if (fixed[i] != ReducedMip::kFree && fixed[i] != values[i]) return;
      }
      whole.push_back(cost_of(mip, values));
    });
    const auto reduced = ReducedMip::make(mip, fixed);
    std::vector<double> part;
    if (reduced) {
      each_answer(reduced->mip(), [&](const auto& values) {
        const auto all = reduced->whole(values);
        EXPECT_TRUE(feasible(mip, all)) << seed;
        EXPECT_NEAR(cost_of(mip, all), cost_of(reduced->mip(), values), 1e-9);
        part.push_back(cost_of(mip, all));
      });
    }
    EXPECT_THAT(part,
                testing::UnorderedPointwise(testing::DoubleNear(1e-9), whole))
        << seed;
  }
}

TEST(Mip, FindsTheBestOfAllAnswersAndBoundsItTruly) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Mip mip = random_mip(seed, 12);
    const double best = best_cost(mip);
    for (const double gap : {0.0, 0.01}) {
      const auto answer = solve(mip, {}, {20, gap});
      ASSERT_TRUE(answer) << seed << ": " << answer.error().message;
      EXPECT_TRUE(feasible(mip, answer->values)) << seed;
      EXPECT_LE(answer->bound, best + 1e-6 * best) << seed;
      EXPECT_LE(answer->cost, best + (gap + 1e-6) * answer->cost) << seed;
      EXPECT_LE(answer->gap(), gap + 1e-6) << seed;
    }
  }
}

}  // namespace
}  // namespace thermocline
