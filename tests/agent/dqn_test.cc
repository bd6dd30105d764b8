#include "agent/dqn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "agent/features.h"

namespace thermocline {
namespace {

constexpr std::size_t kObjects = 32;

TrainingOptions options(double gamma) {
  TrainingOptions out;
  out.algorithm = "dqn";
  out.learning_rate = 3e-3;
  out.gamma = gamma;
  out.target_rate = 0.05;
  out.action_gap = 0;
  out.batch_frames = 4;
  out.replay_frames = 64;
  return out;
}

// Half of the objects are hot: column kLongLoads says so, and what they lose
// in slow memory is their column's value.
Frame frame(std::uint64_t seed, float move) {
  std::mt19937_64 rng(seed);
  Frame out;
  for (std::size_t i = 0; i < kObjects; ++i) {
    std::vector<float> row(kFeatures, 0);
    row[kLongLoads] = static_cast<float>(rng() % 2) *
                      (1 + static_cast<float>(rng() % 100) / 100);
    row[kSlowness] = static_cast<float>(rng() % 2);
    out.before.insert(out.before.end(), row.begin(), row.end());
    out.after.insert(out.after.end(), row.begin(), row.end());
    out.gap.push_back(row[kLongLoads]);
    out.share.push_back(1.0F / kObjects);
  }
  out.promote = out.demote = move;
  out.room = 0.5;
  return out;
}

std::vector<float> row(float heat, float slowness) {
  std::vector<float> out(kFeatures, 0);
  out[kLongLoads] = heat;
  out[kSlowness] = slowness;
  return out;
}

double score(Dqn& learner, float heat, float slowness) {
  std::vector<double> out;
  learner.score(row(heat, slowness), out);
  return out[0];
}

// With gamma 0 the advantage is known in closed form: what is lost in slow
// memory, plus the move that staying spares or coming costs.
TEST(Dqn, LearnsTheImmediateAdvantageExactly) {
  Dqn learner(options(0), 1);
  for (std::uint64_t i = 0; i < 64; ++i) learner.remember(frame(i, 0.4F));
  for (int i = 0; i < 600; ++i) learner.learn(i / 600.0);
  for (const float heat : {0.0F, 1.2F, 1.8F}) {
    EXPECT_NEAR(score(learner, heat, 0), static_cast<double>(heat) + 0.4, 0.06);
    EXPECT_NEAR(score(learner, heat, 1), static_cast<double>(heat) - 0.4, 0.06);
  }
}

// Hot for ever, a gain of 1.5 each time, a move costs 4: worth it over many
// decisions though not at once. By hand, with room for all and gamma 0.9: from
// slow memory, coming now is worth -0.4 and coming next time -0.15 - 0.36; for
// a cold object, coming costs 0.4 and staying nothing.
TEST(Dqn, LooksAheadBeyondTheCostOfAMove) {
  Dqn learner(options(0.9), 1);
  for (std::uint64_t i = 0; i < 64; ++i) {
    Frame one = frame(i, 4.0F);
    one.room = 1;
    learner.remember(one);
  }
  for (int i = 0; i < 800; ++i) learner.learn(i / 800.0);
  EXPECT_NEAR(score(learner, 1.5F, 1), 0.11, 0.07);
  EXPECT_NEAR(score(learner, 0.0F, 1), -0.4, 0.1);
}

// A change of any line of the algorithm shows here. The numbers are this
// code's own, of the day it passed the tests above. Cold objects are alike, and
// which of them comes is often decided by the last bit, which differs between
// processors: these are seeds with which it is not, with the kernels of ten
// (ATEN_CPU_CAPABILITY and OPENBLAS_CORETYPE choose others).
TEST(Dqn, LossesAreAsTheyWere) {
  struct Losses {
    std::uint64_t seed;
    double of[10];
  };
  constexpr Losses kLosses[] = {
      {8,
       {0.127639, 0.110745, 0.0942187, 0.0830294, 0.0655304, 0.0658443,
        0.0608682, 0.0488579, 0.0463651, 0.0453468}},
      {48,
       {0.0346831, 0.0297596, 0.0258484, 0.0189862, 0.0155185, 0.014341,
        0.0110599, 0.0119123, 0.00795385, 0.00731906}}};
  for (const Losses& then : kLosses) {
    Dqn learner(options(0.9), then.seed);
    for (std::uint64_t i = 0; i < 16; ++i) learner.remember(frame(i, 0.4F));
    for (int i = 0; i < 10; ++i) {
      EXPECT_NEAR(learner.learn(i / 10.0), then.of[i], 1e-2 * then.of[i])
          << "seed " << then.seed << " step " << i;
    }
  }
}

TEST(Dqn, SameSeedSameBits) {
  const auto run = [](std::uint64_t seed) {
    Dqn learner(options(0.9), seed);
    std::vector<double> scores;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Frame one = frame(i, 0.4F);
      learner.explore(one.before, 0.5, scores);
      learner.remember(one);
      learner.learn(0.1);
    }
    return std::pair{learner.weights(), scores};
  };
  EXPECT_EQ(run(3), run(3));
  EXPECT_NE(run(3).first, run(4).first);
}

// Two learners that swap their gradients for the mean of both are equal after
// every step; one that remembers nothing takes part with zeros.
TEST(Dqn, TheHookDecidesWhatIsApplied) {
  Dqn alone(options(0.5), 1);
  Dqn hooked(options(0.5), 1);
  alone.remember(frame(1, 0.4F));
  hooked.remember(frame(1, 0.4F));
  std::vector<float> seen;
  hooked.set_gradient_hook(
      [&seen](std::span<float> all) { seen.assign(all.begin(), all.end()); });
  EXPECT_EQ(alone.learn(0), hooked.learn(0));
  EXPECT_EQ(seen.size(), hooked.weights().size());
  EXPECT_EQ(alone.weights(), hooked.weights());

  Dqn empty(options(0.5), 1);
  empty.set_gradient_hook([&seen](std::span<float> all) {
    for (const float one : all) EXPECT_EQ(one, 0);
    std::copy(seen.begin(), seen.end(), all.begin());
  });
  EXPECT_EQ(empty.learn(0), 0);
  EXPECT_EQ(empty.weights(), hooked.weights());
}

// What is applied is how the loss changes with each weight, by differences of
// the loss itself. The last step of an episode: targets hang on no weight.
TEST(Dqn, GradientsAreThoseOfTheLoss) {
  for (const char* algorithm : {"dqn", "forecast"}) {
    TrainingOptions given = options(0.9);
    given.algorithm = algorithm;
    std::vector<float> at = Dqn(given, 5).weights();
    std::mt19937_64 rng(9);
    for (float& one : at) one += static_cast<float>(rng() % 200) / 1000 - 0.1F;
    std::vector<float> gradients;
    const auto loss = [&](const std::vector<float>& weights) {
      Dqn learner(given, 5);
      learner.set_weights(weights);
      for (std::uint64_t i = 0; i < 4; ++i) {
        Frame one = frame(i, 0.4F);
        one.last = 1;
        learner.remember(one);
      }
      learner.set_gradient_hook([&](std::span<float> all) {
        gradients.assign(all.begin(), all.end());
      });
      return learner.learn(0);
    };
    loss(at);
    const std::vector<float> right = gradients;
    double most = 0;
    for (const float one : right) {
      most = std::max(most, std::abs(static_cast<double>(one)));
    }
    ASSERT_GT(most, 0.01) << algorithm;
    for (std::size_t i = 0; i < at.size(); i += 7) {
      constexpr float kStep = 1.0F / 256;
      std::vector<float> more = at;
      std::vector<float> less = at;
      more[i] += kStep;
      less[i] -= kStep;
      const double slope =
          (loss(more) - loss(less)) / static_cast<double>(more[i] - less[i]);
      EXPECT_NEAR(static_cast<double>(right[i]), slope, 0.01 * most)
          << algorithm << " weight " << i;
    }
  }
}

TEST(Dqn, GoesOnFromWeights) {
  Dqn one(options(0.5), 1);
  Dqn other(options(0.5), 2);
  ASSERT_NE(one.weights(), other.weights());
  other.set_weights(one.weights());
  EXPECT_EQ(other.weights(), one.weights());
  EXPECT_EQ(score(other, 1, 1), score(one, 1, 1));
}

// A forecast is a mean of what comes, whatever the features first suggest:
// hot objects lose 3 units a step and cold ones 0.25, and it goes on so.
TEST(Forecast, LearnsTheMeanOfWhatComes) {
  TrainingOptions given = options(0.9);
  given.algorithm = "forecast";
  given.payback = 10;
  Dqn learner(given, 1);
  std::mt19937_64 rng(1);
  for (std::uint64_t i = 0; i < 64; ++i) {
    Frame one = frame(i, 0);
    for (auto* rows : {&one.before, &one.after}) {
      for (std::size_t k = 0; k < kObjects; ++k) {
        (*rows)[k * kFeatures + kSteady] = std::log(2.0F);
      }
    }
    for (std::size_t k = 0; k < kObjects; ++k) {
      const bool hot = one.before[k * kFeatures + kLongLoads] > 0;
      // A count of mean 3 or 0.25, seldom and much.
      one.gap[k] = rng() % 4 == 0 ? (hot ? 12.0F : 1.0F) : 0.0F;
    }
    learner.remember(one);
  }
  for (int i = 0; i < 1500; ++i) learner.learn(i / 1500.0);
  const auto forecast = [&](float heat) {
    auto one = row(heat, 0);
    one[kSteady] = std::log(2.0F);
    std::vector<double> out;
    learner.score(one, out);
    return out[0];
  };
  EXPECT_NEAR(forecast(1.5F), 3, 0.5);
  EXPECT_NEAR(forecast(0.0F), 0.25, 0.1);
}

// What a move costs comes off, spread over the decisions that it has.
TEST(Forecast, PaysForMoves) {
  TrainingOptions given = options(0.9);
  given.algorithm = "forecast";
  given.payback = 4;
  Dqn learner(given, 1);
  auto slow = row(1, 1);
  auto fast = row(1, 0);
  auto still = row(1, 1);  // moves cost nothing
  for (auto* one : {&slow, &fast, &still}) (*one)[kAge] = 1;
  for (auto* one : {&slow, &fast}) {
    (*one)[kMoveCost] = std::log1p(8.0F);
    (*one)[kDemoteCost] = std::log1p(2.0F);
  }
  // Where it lies and what a move costs say nothing about what comes; what is
  // learned of the costs is nothing yet.
  std::vector<double> a, b, c;
  learner.score(slow, a);
  learner.score(fast, b);
  learner.score(still, c);
  EXPECT_NEAR(a[0], c[0] - 8.0 / 4, 1e-4);
  EXPECT_NEAR(b[0], c[0] + 2.0 / 4, 1e-4);
}

}  // namespace
}  // namespace thermocline
