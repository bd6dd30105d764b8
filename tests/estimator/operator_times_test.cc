#include "estimator/operator_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;
using Measurement = OperatorTimes::Measurement;
using Operands = std::vector<OperatorTimes::Operand>;
using Tiers = std::vector<TierId>;

TransferModel simple() { return *TransferModel::from_machine(two_tiers()); }

// Two reads and a write; penalties of simple(): 1,000, 500 and 4,000 ns.
const Operands kThree = {{64'000, false}, {32'000, false}, {64'000, true}};

OperatorTimes fitted(const TransferModel& model, const Operands& operands,
                     const std::vector<Measurement>& measurements) {
  auto made = OperatorTimes::fit(model, operands, measurements);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

Tiers mix(unsigned bits, std::size_t n) {
  Tiers out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = bits >> i & 1;
  return out;
}

// An operator of up to five operands with its endpoints and, half the times,
// its single-slow times, all noisy.
struct Random {
  explicit Random(unsigned seed) : generator(seed) {
    const auto n = static_cast<std::size_t>(1 + generator() % 5);
    for (std::size_t i = 0; i < n; ++i) {
      operands.push_back({generator() % 50'000'000, generator() % 2 == 0});
    }
    const double fast = std::exp(noise(generator) * 3 + 12);
    measurements = {
        {mix(0, n), fast},
        {mix(~0u, n), fast * (1.1 + static_cast<double>(generator() % 20))}};
    if (n > 1 && generator() % 2 == 0) {
      for (std::size_t i = 0; i < n; ++i) {
        measurements.push_back(
            {mix(1u << i, n), fast * std::exp(noise(generator))});
      }
    }
  }
  std::mt19937 generator;
  std::normal_distribution<double> noise;
  Operands operands;
  std::vector<Measurement> measurements;
};

TEST(OperatorTimes, OneMeasurementAddsThePenalties) {
  const auto fast = fitted(simple(), kThree, {{{0, 0, 0}, 10'000}});
  EXPECT_NEAR(fast.predict_ns(Tiers{1, 0, 0}), 11'000, 1e-6);
  EXPECT_NEAR(fast.predict_ns(Tiers{0, 1, 1}), 14'500, 1e-6);
  const auto slow = fitted(simple(), kThree, {{{1, 1, 1}, 10'000}});
  EXPECT_NEAR(slow.predict_ns(Tiers{0, 0, 0}), 4'500, 1e-6);
}

TEST(OperatorTimes, ConsistentMeasurementsAreMet) {
  // Penalties of half, twice and once what the model expects; they add up.
  auto model = simple();
  model.noise = 0.001;
  const auto times = fitted(model, kThree,
                            {{{0, 0, 0}, 10'000},
                             {{1, 0, 0}, 10'500},
                             {{0, 1, 0}, 11'000},
                             {{0, 0, 1}, 14'000},
                             {{1, 1, 1}, 15'500}});
  EXPECT_NEAR(times.predict_ns(Tiers{1, 1, 0}), 11'500, 50);
  EXPECT_NEAR(times.predict_ns(Tiers{1, 0, 1}), 14'500, 50);
  EXPECT_NEAR(times.predict_ns(Tiers{0, 1, 1}), 15'000, 50);
}

TEST(OperatorTimes, EndpointsShareTheirDifferenceByDirectionAndSize) {
  // Half of what the model expects is lost.
  const auto times =
      fitted(simple(), kThree, {{{0, 0, 0}, 10'000}, {{1, 1, 1}, 12'750}});
  const double small = times.predict_ns(Tiers{0, 1, 0});
  const double large = times.predict_ns(Tiers{1, 0, 0});
  const double write = times.predict_ns(Tiers{0, 0, 1});
  EXPECT_LT(10'000, small);
  EXPECT_LT(small, large);
  EXPECT_LT(large, write);
  EXPECT_LT(write, 12'750);
}

TEST(OperatorTimes, OneOutlierIsVotedDown) {
  auto model = simple();
  model.noise = 0.03;
  model.write_noise = 0;
  const auto times = fitted(model, {{64'000, false}, {64'000, false}},
                            {{{0, 0}, 30'000},  // of a cold cache
                             {{1, 0}, 11'000},
                             {{0, 1}, 11'000},
                             {{1, 1}, 12'000}});
  EXPECT_LT(times.modelled_ns(Tiers{0, 0}), 15'000);
  EXPECT_EQ(times.predict_ns(Tiers{0, 0}), 30'000);
}

TEST(OperatorTimes, ALowAllSlowTimeDoesNotMakeMixesEqual) {
  // The single-slow times add up to 15,500; all-slow was lucky.
  const std::vector<Measurement> measured = {{{0, 0, 0}, 10'000},
                                             {{1, 0, 0}, 11'000},
                                             {{0, 1, 0}, 10'500},
                                             {{0, 0, 1}, 14'000},
                                             {{1, 1, 1}, 12'000}};
  const auto times = fitted(simple(), kThree, measured);
  const double smaller = times.predict_ns(Tiers{0, 1, 1});
  EXPECT_GT(smaller, 12'000);
  EXPECT_LT(smaller, times.predict_ns(Tiers{1, 0, 1}));
}

TEST(OperatorTimes, AnyOperatorKeepsTheProperties) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Random job(seed);
    const std::size_t n = job.operands.size();
    const auto times =
        fitted(TransferModel::optane(), job.operands, job.measurements);
    for (const auto& one : job.measurements) {
      ASSERT_EQ(times.predict_ns(one.tiers), one.ns) << seed;
    }
    const double fast = job.measurements[0].ns;
    const double slow = job.measurements[1].ns;
    for (unsigned bits = 0; bits < 1u << n; ++bits) {
      const double time = times.predict_ns(mix(bits, n));
      ASSERT_TRUE(std::isfinite(time)) << seed;
      if (job.measurements.size() == 2) {
        ASSERT_GE(time, fast) << seed;
        ASSERT_LE(time, slow) << seed;
      }
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_GE(times.modelled_ns(mix(bits | 1u << i, n)),
                  times.modelled_ns(mix(bits, n)))
            << seed;
        if (job.measurements.size() == 2) {
          ASSERT_GE(times.predict_ns(mix(bits | 1u << i, n)), time) << seed;
        }
      }
    }
  }
}

TEST(OperatorTimes, OrderOfOperandsIsOfNoAccount) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Random job(seed);
    Operands operands(job.operands.rbegin(), job.operands.rend());
    std::vector<Measurement> measurements(job.measurements.rbegin(),
                                          job.measurements.rend());
    for (auto& one : measurements) {
      std::reverse(one.tiers.begin(), one.tiers.end());
    }
    const auto model = TransferModel::optane();
    const auto times = fitted(model, job.operands, job.measurements);
    const auto back = fitted(model, operands, measurements);
    for (unsigned bits = 0; bits < 1u << operands.size(); ++bits) {
      Tiers tiers = mix(bits, operands.size());
      const double time = times.predict_ns(tiers);
      std::reverse(tiers.begin(), tiers.end());
      ASSERT_NEAR(back.predict_ns(tiers) / time, 1, 1e-6) << seed;
    }
  }
}

TEST(OperatorTimes, ThreeTiersAreMonotoneToo) {
  auto model = simple();
  model.tiers.push_back({0.1, 0.5, 0});
  const auto times =
      fitted(model, kThree, {{{0, 0, 0}, 10'000}, {{2, 2, 2}, 40'000}});
  double last = 0;
  for (TierId tier = 0; tier < 3; ++tier) {
    const double time = times.predict_ns(Tiers{tier, 1, 1});
    EXPECT_GT(time, last);
    last = time;
  }
  EXPECT_LT(last, 40'000);
}

TEST(OperatorTimes, RepeatsCountAsTheirMean) {
  const auto times =
      fitted(simple(), kThree, {{{0, 0, 0}, 9'000}, {{0, 0, 0}, 11'000}});
  EXPECT_EQ(times.predict_ns(Tiers{0, 0, 0}), 10'000);
}

TEST(OperatorTimes, NoOperandsAndNoBytes) {
  const auto none = fitted(simple(), {}, {{{}, 5'000}});
  EXPECT_EQ(none.predict_ns({}), 5'000);
  const auto empty = fitted(simple(), {{0, false}, {0, true}},
                            {{{0, 0}, 5'000}, {{1, 1}, 6'000}});
  EXPECT_GE(empty.predict_ns(Tiers{1, 0}), 5'000);
  EXPECT_LE(empty.predict_ns(Tiers{0, 1}), 6'000);
}

TEST(OperatorTimes, RefusesWhatIsNotAMeasurement) {
  const auto refusal = [](std::vector<Measurement> measurements,
                          TransferModel model) {
    const auto made = OperatorTimes::fit(model, kThree, measurements);
    EXPECT_FALSE(made);
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(refusal({}, simple()), HasSubstr("0 measured times"));
  const std::vector<Measurement> many(OperatorTimes::kMostMeasurements + 1,
                                      {{0, 0, 0}, 1});
  EXPECT_THAT(refusal(many, simple()), HasSubstr("513"));
  for (const double ns :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal({{{0, 0, 0}, ns}}, simple()), HasSubstr(" ns"));
  }
  EXPECT_THAT(refusal({{{0, 0}, 1}}, simple()), HasSubstr("2 tiers"));
  EXPECT_THAT(refusal({{{0, 0, 2}, 1}}, simple()), HasSubstr("tier 2"));
  TransferModel model = simple();
  model.noise = std::nan("");
  EXPECT_THAT(refusal({{{0, 0, 0}, 1}}, model), HasSubstr("noise"));
  model = simple();
  model.tiers.clear();
  EXPECT_THAT(refusal({{{0, 0, 0}, 1}}, model), HasSubstr("no tiers"));
}

}  // namespace
}  // namespace thermocline
