// Operators whose work is known only when they run, against the best
// assignment that is made beforehand.
#include "training/scheduling/wave.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "training/ranks/thread_ranks.h"
#include "training/scheduling/load_model.h"

namespace thermocline {
namespace {

// The best split of the operators between two ranks, all tried.
WavePlan best_of_two(const std::vector<std::vector<double>>& runs) {
  const std::size_t n = runs.front().size();
  WavePlan best;
  double least = -1;
  for (std::size_t mask = 0; mask < (std::size_t{1} << n); ++mask) {
    double sum = 0;
    for (const auto& actual : runs) {
      double one = 0;
      double other = 0;
      for (std::size_t i = 0; i < n; ++i) {
        ((mask >> i & 1) != 0 ? one : other) += actual[i];
      }
      sum += std::max(one, other);
    }
    if (least >= 0 && sum >= least) continue;
    least = sum;
    best.assign(2, {});
    for (std::size_t i = 0; i < n; ++i) {
      best[(mask >> i & 1) != 0 ? 0 : 1].push_back(i);
    }
  }
  return best;
}

// Loops that run 1 to 16 trips, mostly few.
std::vector<std::vector<double>> loops(std::size_t count, std::size_t runs,
                                       unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<std::vector<double>> out(runs);
  for (auto& actual : out) {
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned most = 1 + rng() % 4;
      actual.push_back(static_cast<double>(1 + rng() % (most * most)));
    }
  }
  return out;
}

TEST(Wave, PlansLongestFirst) {
  EXPECT_EQ(plan_wave({3, 5, 4, 1}, 2), (WavePlan{{1, 3}, {2, 0}}));
  EXPECT_EQ(plan_wave({}, 3), (WavePlan{{}, {}, {}}));
}

TEST(Wave, IsNoLongerThanTheBestStaticAssignment) {
  constexpr std::size_t kOperators = 10;
  const auto known = loops(kOperators, 40, 1);
  // The static one was chosen knowing these very runs.
  const WavePlan fixed = best_of_two(known);
  const std::vector<double> nothing_known(kOperators, 1.0);
  double sum_static = 0;
  double sum_dynamic = 0;
  double sum_bound = 0;
  for (const auto& actual : known) {
    sum_static += simulate_wave(fixed, nothing_known, actual, false);
    sum_dynamic += simulate_wave(plan_wave(nothing_known, 2), nothing_known,
                                 actual, true, 0.01);
    const WavePlan best = best_of_two({actual});
    sum_bound += simulate_wave(best, actual, actual, false);
  }
  RecordProperty("static", std::to_string(sum_static));
  RecordProperty("dynamic", std::to_string(sum_dynamic));
  RecordProperty("bound", std::to_string(sum_bound));
  EXPECT_LT(sum_dynamic, sum_static);
  EXPECT_GE(sum_dynamic, sum_bound);
}

TEST(Wave, NoListIsWorseThanTwiceTheBest) {
  // Graham's bound: any order, 2 - 1/m.
  for (const auto& actual : loops(9, 60, 2)) {
    const WavePlan best = best_of_two({actual});
    const double bound = simulate_wave(best, actual, actual, false);
    const std::vector<double> wrong(actual.rbegin(), actual.rend());
    EXPECT_LE(simulate_wave(plan_wave(wrong, 2), wrong, actual, true),
              1.5 * bound + 1e-9);
  }
}

TEST(LoadModel, LearnsSecondsPerSize) {
  LoadModel model(0.5);
  EXPECT_EQ(model.expected("loop", 7), 7);  // nothing is known
  model.measured("loop", 10, 20);
  EXPECT_EQ(model.expected("loop", 5), 10);
  EXPECT_EQ(model.expected("expert", 5), 10);
  model.measured("loop", 10, 40);
  EXPECT_EQ(model.expected("loop", 1), 3);
  model.measured("loop", 0, 5);  // says nothing
  EXPECT_EQ(model.expected("loop", 1), 3);
}

class WavesOverThreads : public testing::TestWithParam<int> {};

TEST_P(WavesOverThreads, EachOperatorRunsOnceAndResultsAreEqual) {
  constexpr std::size_t kOperators = 50;
  const std::vector<double> expected(kOperators, 1.0);
  run_as_threads(GetParam(), [&](Ranks& ranks) {
    auto wave = Wave::make(ranks);
    ASSERT_TRUE(wave.has_value());
    for (int round = 0; round < 10; ++round) {
      std::vector<float> times(kOperators, 0);
      std::vector<float> results(kOperators, 0);
      const auto stats = wave->run(expected, [&](std::size_t i) {
        // A loop of a length that only the data know.
        float x = 1.0F / static_cast<float>(i + 1);
        for (int t = 0; x < 1000 && t < 100000; ++t) x = 1.0003F * x + 0.01F;
        times[i] += 1;
        results[i] = x;
      });
      ASSERT_TRUE(stats.has_value());
      ASSERT_TRUE(ranks.sum(times).has_value());
      EXPECT_EQ(times, std::vector<float>(kOperators, 1));
      ASSERT_TRUE(ranks.sum(results).has_value());
      for (std::size_t i = 0; i < kOperators; ++i) {
        float x = 1.0F / static_cast<float>(i + 1);
        for (int t = 0; x < 1000 && t < 100000; ++t) x = 1.0003F * x + 0.01F;
        EXPECT_EQ(results[i], x);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, WavesOverThreads, testing::Values(1, 2, 4));

}  // namespace
}  // namespace thermocline
