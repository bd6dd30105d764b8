// What becomes of input that is odd but can be estimated: every figure is
// finite, the endpoints are exact, and the error bar covers what is not known.
// What cannot be is refused: differential_test.cc, phases_test.cc,
// alignment_test.cc, and tests/daemon/estimate_test.cc for placements.
#include <gtest/gtest.h>

#include <cmath>

#include "estimator/differential.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

struct Odd {
  std::string name;
  Trace slow;
  Trace fast;
};

SyntheticJob plain() {
  SyntheticJob job;
  job.objects = 3;
  job.marks = true;
  job.phases = {{1'000'000, {{0, 300, 10}, {1, 20, 0}}},
                {2'000'000, {{1, 500, 0}, {2, 60, 60}}}};
  return job;
}

Odd odd(const std::string& name, const SyntheticJob& job,
        const std::vector<Nanos>& slow, const std::vector<Nanos>& fast,
        const std::vector<double>& scale = {}) {
  return {name, job.run("all_slow", slow), job.run("all_fast", fast, scale)};
}

std::vector<Odd> all_odd() {
  std::vector<Odd> out;
  const SyntheticJob job = plain();
  out.push_back(
      odd("slower in fast memory", job, {5'000, 7'000}, {6'000, 9'000}));
  out.push_back(odd("one phase slower in fast memory", job, {5'000, 70'000},
                    {6'000, 9'000}));
  out.push_back(odd("no difference", job, {5'000, 7'000}, {5'000, 7'000}));
  out.push_back(odd("a run of one nanosecond a phase", job, {1, 1}, {1, 1}));
  out.push_back(odd("a phase that takes no time", job, {0, 7'000}, {0, 2'000}));
  out.push_back(odd("a phase sampled in the slow run only", job, {5'000, 7'000},
                    {3'000, 2'000}, {1, 0}));
  SyntheticJob changed = job;
  changed.phases[0].touches = {};
  out.push_back(
      odd("a phase without samples", changed, {5'000, 7'000}, {3'000, 2'000}));
  changed = job;
  changed.phases = {{1'000'000, {{0, 1, 0}}}};
  out.push_back(odd("a single sample", changed, {5'000}, {3'000}));
  changed = job;
  changed.counters = false;
  for (Tier& tier : changed.machine.tiers) {
    tier = {tier.name, tier.nodes, 0, 0, 0, 0, 0, false};
  }
  out.push_back(odd("a machine without numbers", changed, {5'000, 7'000},
                    {3'000, 2'000}));
  changed.machine.tiers.insert(changed.machine.tiers.begin() + 1,
                               Tier{"between", {2}, 0, 0, 0, 0, 0, false});
  out.push_back(odd("three tiers without numbers", changed, {5'000, 7'000},
                    {3'000, 2'000}));
  changed = job;
  changed.machine.tiers[0].read_ns = 500;  // slower than the slowest
  changed.machine.tiers[1].read_ns = 100;
  out.push_back(odd("latencies the wrong way round", changed, {5'000, 7'000},
                    {3'000, 2'000}));
  return out;
}

class BadInput : public testing::TestWithParam<Odd> {};

TEST_P(BadInput, IsEstimatedFinitelyAndExactlyAtTheEndpoints) {
  const auto& [name, slow, fast] = GetParam();
  for (const std::int64_t windows : {1, 7, 100, 5000}) {
    const auto made = Differential::from_pair(slow, fast, {windows, kRegion});
    ASSERT_TRUE(made) << made.error().message;
    const auto tiers = made->machine().tiers.size();
    const std::size_t objects = made->objects().size();
    const auto all = [&](std::size_t tier) {
      return std::vector<TierId>(objects, static_cast<TierId>(tier));
    };
    EXPECT_EQ(made->total_ns(all(0)), static_cast<double>(fast.run_ns()));
    EXPECT_EQ(made->total_ns(all(tiers - 1)),
              static_cast<double>(slow.run_ns()));
    EXPECT_EQ(made->error_ns(all(0)), 0);
    EXPECT_EQ(made->error_ns(all(tiers - 1)), 0);
    for (unsigned code = 0; code < 27; ++code) {
      std::vector<TierId> placement;
      unsigned rest = code;
      for (std::size_t o = 0; o < objects; ++o, rest /= 3) {
        placement.push_back(
            static_cast<TierId>(std::min<std::size_t>(rest % 3, tiers - 1)));
      }
      EXPECT_TRUE(std::isfinite(made->total_ns(placement)));
      EXPECT_TRUE(std::isfinite(*made->error_ns(placement)));
      EXPECT_GE(*made->error_ns(placement), 0);
      for (std::size_t w = 0; w < made->windows(); ++w) {
        ASSERT_TRUE(std::isfinite(made->window_ns(w, placement)));
      }
    }
  }
}

TEST_P(BadInput, IsModelledFinitelyFromOneTrace) {
  for (const Trace* trace : {&GetParam().slow, &GetParam().fast}) {
    const auto made = Differential::from_one(*trace, {7, kRegion});
    if (!made) {  // the one that has no sample left
      EXPECT_FALSE(made.error().message.empty());
      continue;
    }
    EXPECT_TRUE(std::isfinite(made->slow_ns()));
    EXPECT_TRUE(std::isfinite(made->fast_ns()));
    EXPECT_GE(made->slow_ns(), 0);
    EXPECT_GE(made->fast_ns(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadInput, testing::ValuesIn(all_odd()),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           for (char& c : name) c = c == ' ' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace thermocline
