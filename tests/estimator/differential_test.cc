#include "estimator/differential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "estimator/access_cost.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

Differential pair(const Trace& slow, const Trace& fast, std::int64_t windows,
                  bool phases = true) {
  auto made = Differential::from_pair(slow, fast, {windows, kRegion, phases});
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

std::vector<TierId> all(const Differential& of, TierId tier) {
  return std::vector<TierId>(of.objects().size(), tier);
}

// A set-up that gains nothing and a solver that is three times as fast; the
// set-up is long in time and short in samples, as in miniFE.
SyntheticJob setup_and_solve() {
  SyntheticJob job;
  job.objects = 3;
  job.phases = {{1'000'000, {{0, 40, 0}}},
                {4'000'000, {{1, 1200, 0}, {2, 400, 0}}}};
  return job;
}
const std::vector<Nanos> kSlow{16'000'003, 27'000'001};
const std::vector<Nanos> kFast{16'000'003, 9'000'002};
// Where the rate changes is known to one sample of the solver.
constexpr double kOneSample = 27e6 / 1600;

class Endpoints : public testing::TestWithParam<std::int64_t> {};

TEST_P(Endpoints, AreExactWhateverTheCut) {
  for (const bool counters : {true, false}) {
    for (const bool marks : {true, false}) {
      SyntheticJob job = setup_and_solve();
      job.counters = counters;
      job.marks = marks;
      const Trace slow = job.run("all_slow", kSlow);
      const Trace fast = job.run("all_fast", kFast, {0.7, 0.37}, 77);
      const auto both = pair(slow, fast, GetParam());
      // No window spans both phases.
      EXPECT_EQ(both.windows(),
                std::max<std::size_t>(both.phases().size(),
                                      static_cast<std::size_t>(GetParam())));
      EXPECT_EQ(both.slow_ns(), 43'000'004.0);
      EXPECT_EQ(both.fast_ns(), 25'000'005.0);
      EXPECT_EQ(both.total_ns(all(both, 1)), 43'000'004.0);
      EXPECT_EQ(both.total_ns(all(both, 0)), 25'000'005.0);
      EXPECT_FALSE(both.modelled());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, Endpoints,
                         testing::Values(1, 2, 3, 7, 100, 480, 2000, 100000));

TEST(Differential, SharesOfEveryWindowSumToOneAndAreNeverNegative) {
  const auto job = setup_and_solve();
  const auto both =
      pair(job.run("all_slow", kSlow), job.run("all_fast", kFast), 2000);
  for (std::size_t w = 0; w < both.windows(); ++w) {
    double sum = 0;
    for (const auto& access : both.accesses(w)) {
      EXPECT_GE(access.cost, 0);
      sum += access.cost;
    }
    EXPECT_NEAR(sum, 1, 1e-12) << "window " << w;
  }
}

TEST(Differential, PhasesOfDifferentGainAreNotMixed) {
  const auto job = setup_and_solve();
  const auto both =
      pair(job.run("all_slow", kSlow), job.run("all_fast", kFast), 100);
  // The set-up's object fast: nothing is gained, for its phase gains nothing.
  EXPECT_NEAR(both.total_ns(std::vector<TierId>{0, 1, 1}), 43'000'004,
              kOneSample);
  // The solver's big object fast: three quarters of its phase's 18 ms.
  EXPECT_NEAR(both.total_ns(std::vector<TierId>{1, 0, 1}),
              43'000'004 - 0.75 * 17'999'999, 1e5);
}

TEST(Differential, OneWindowWouldMixThem) {
  // That the test above can fail: without phases the set-up's samples share
  // the solver's gain.
  const auto job = setup_and_solve();
  const auto both =
      pair(job.run("all_slow", kSlow), job.run("all_fast", kFast), 1,
           /*phases=*/false);
  EXPECT_LT(both.total_ns(std::vector<TierId>{0, 1, 1}), 43'000'004 - 4e5);
}

TEST(Differential, MarksPinThePhasesWhereThereAreNoCounters) {
  // The solver is sampled 2.5 times less in the fast run (prefetching): cut by
  // access index alone, the two runs' windows hold different work.
  SyntheticJob job = setup_and_solve();
  job.counters = false;
  const auto estimate = [&](bool marks) {
    job.marks = marks;
    return pair(job.run("all_slow", kSlow),
                job.run("all_fast", kFast, {1, 0.4}), 100, /*phases=*/false)
        .total_ns(std::vector<TierId>{0, 1, 1});
  };
  EXPECT_NEAR(estimate(true), 43'000'004, 1e3);
  EXPECT_GT(std::abs(estimate(false) - 43'000'004), 1e5);
}

TEST(Differential, InstructionsAlignRunsOfDifferentSampleCounts) {
  const auto job = setup_and_solve();  // has counters
  const auto both =
      pair(job.run("all_slow", kSlow), job.run("all_fast", kFast, {1, 0.4}),
           100, /*phases=*/false);
  EXPECT_NEAR(both.total_ns(std::vector<TierId>{0, 1, 1}), 43'000'004, 1e3);
}

TEST(Differential, TheBusiestCpuCountsTheWork) {
  // CPU 1 runs another program; its instructions are no progress of the job.
  const auto job = setup_and_solve();
  Trace slow = job.run("all_slow", kSlow);
  const auto plain = pair(slow, job.run("all_fast", kFast), 100);
  for (int i = 0; i < 20; ++i) {
    Counters other;
    other.cpu = 1;
    other.time = 1000 + i * 100'000;
    other.instructions = static_cast<std::uint64_t>(i) * 50'000'000;
    slow.counters.push_back(other);
  }
  slow.sort();
  const auto noisy = pair(slow, job.run("all_fast", kFast), 100);
  const std::vector<TierId> placement{1, 0, 1};
  EXPECT_EQ(noisy.total_ns(placement), plain.total_ns(placement));
}

TEST(Differential, StoresWeighByWhatTheyLose) {
  SyntheticJob job;  // a store loses four times what a load does
  job.objects = 2;
  job.phases = {{1000, {{0, 400, 0}, {1, 0, 100}}}};
  const auto both =
      pair(job.run("all_slow", {3000}), job.run("all_fast", {1000}), 1);
  ASSERT_EQ(store_weight(both.machine()), 4);
  EXPECT_NEAR(both.total_ns(std::vector<TierId>{0, 1}), 2000, 1e-9);
  EXPECT_NEAR(both.total_ns(std::vector<TierId>{1, 0}), 2000, 1e-9);
  const auto accesses = both.accesses(0);
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[0].loads, 400);
  EXPECT_EQ(accesses[0].stores, 0);
  EXPECT_EQ(accesses[1].loads, 0);
  EXPECT_EQ(accesses[1].stores, 100);
}

TEST(Differential, CountsAreSamplesTimesPeriodAveragedOverTheRuns) {
  SyntheticJob job;
  job.period = 31;
  job.phases = {{1000, {{0, 100, 20}}}};
  const auto both =
      pair(job.run("all_slow", {3000}), job.run("all_fast", {1000}, {0.5}), 1);
  EXPECT_EQ(both.accesses(0)[0].loads, 75 * 31);
  EXPECT_EQ(both.accesses(0)[0].stores, 15 * 31);
}

TEST(Differential, AWindowSampledInOneRunOnlyIsNotLost) {
  SyntheticJob job;
  job.objects = 2;
  job.phases = {{1000, {{0, 100, 0}}}, {1000, {{1, 100, 0}}}};
  // The second phase leaves no sample in the slow run.
  const auto both = pair(job.run("all_slow", {3000, 6000}, {1, 0}),
                         job.run("all_fast", {1000, 2000}), 2);
  EXPECT_EQ(both.total_ns(std::vector<TierId>{1, 0}), 3000 + 2000);
  EXPECT_EQ(both.total_ns(std::vector<TierId>{0, 1}), 1000 + 6000);
}

TEST(Differential, AWindowWithoutSamplesFollowsItsNeighbour) {
  SyntheticJob job;
  job.objects = 2;
  job.phases = {{1000, {{0, 100, 0}}}, {1000, {}}, {3000, {{1, 300, 0}}}};
  const auto both =
      pair(job.run("all_slow", {300, 500, 900}),
           job.run("all_fast", {100, 200, 300}), 5, /*phases=*/false);
  ASSERT_EQ(both.accesses(1).size(), 1u);
  EXPECT_EQ(both.accesses(1)[0].object, 0u);
  EXPECT_EQ(both.accesses(1)[0].loads, 0);
  EXPECT_EQ(both.window_ns(1, std::vector<TierId>{0, 1}), 200);
  EXPECT_EQ(both.window_ns(1, std::vector<TierId>{1, 0}), 500);
}

TEST(Differential, FasterObjectsNeverSlowAWindowThatGains) {
  SyntheticJob job;
  job.objects = 6;
  job.phases = {{1000, {{0, 50, 3}, {1, 20, 20}, {2, 7, 0}}},
                {1000, {{2, 90, 1}, {3, 1, 1}, {4, 30, 30}, {5, 0, 9}}}};
  const auto both = pair(job.run("all_slow", {5000, 9000}),
                         job.run("all_fast", {900, 8000}), 10);
  for (unsigned mask = 0; mask < 64; ++mask) {
    for (unsigned object = 0; object < 6; ++object) {
      std::vector<TierId> placement(6);
      for (unsigned i = 0; i < 6; ++i) {
        placement[i] = static_cast<TierId>(mask >> i & 1);
      }
      placement[object] = 1;
      std::vector<TierId> better = placement;
      better[object] = 0;
      for (std::size_t w = 0; w < both.windows(); ++w) {
        ASSERT_GE(both.slow_ns(w), both.fast_ns(w));
        EXPECT_LE(both.window_ns(w, better),
                  both.window_ns(w, placement) + 1e-9);
      }
    }
  }
}

TEST(Differential, TiersBetweenAreInterpolatedByLatency) {
  SyntheticJob job;
  job.machine.tiers[0].read_ns = 100;
  job.machine.tiers[1].read_ns = 500;
  Tier middle = job.machine.tiers[0];
  middle.name = "cxl";
  middle.nodes = {2};
  middle.read_ns = 200;
  job.machine.tiers.insert(job.machine.tiers.begin() + 1, middle);
  job.phases = {{1000, {{0, 100, 0}}}};
  const auto both =
      pair(job.run("all_slow", {5000}), job.run("all_fast", {1000}), 3);
  EXPECT_EQ(both.slowness(1), 0.25);
  EXPECT_NEAR(both.total_ns(all(both, 1)), 2000, 1e-9);
  EXPECT_EQ(both.total_ns(all(both, 2)), 5000);
}

TEST(Differential, AMoveCostsBothTransfersAndThePages) {
  SyntheticJob job;
  job.phases = {{1000, {{0, 100, 0}}}};
  const auto both =
      pair(job.run("all_slow", {5000}), job.run("all_fast", {1000}), 1);
  // 8192 bytes: read at 32 GB/s, written at 64 GB/s, two pages.
  EXPECT_NEAR(both.move_ns(8192, 1, 0), 256 + 128 + 2 * kPageMoveNs, 1e-9);
  // The other way: read at 64 GB/s, written at 12.8 GB/s.
  EXPECT_NEAR(both.move_ns(8192, 0, 1), 128 + 640 + 2 * kPageMoveNs, 1e-9);
  EXPECT_EQ(both.move_ns(8192, 1, 1), 0);
}

TEST(Differential, ModelsTheMissingEndpoint) {
  SyntheticJob job;
  job.objects = 2;
  job.phases = {{1000, {{0, 300, 0}, {1, 0, 100}}}};
  // 300 loads lose 1 ns each, 100 stores 4 ns each.
  const auto up =
      Differential::from_one(job.run("all_fast", {10'000}), {4, kRegion});
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_TRUE(up->modelled());
  EXPECT_EQ(up->total_ns(all(*up, 0)), 10'000);
  EXPECT_EQ(up->total_ns(all(*up, 1)), 10'700);
  const auto down =
      Differential::from_one(job.run("all_slow", {10'000}), {4, kRegion});
  ASSERT_TRUE(down) << down.error().message;
  EXPECT_EQ(down->total_ns(all(*down, 1)), 10'000);
  EXPECT_EQ(down->total_ns(all(*down, 0)), 9'300);
}

TEST(Differential, AModelledWindowKeepsItsTimePositive) {
  SyntheticJob job;
  job.period = 1000;  // 300 us of loads said to have taken 10 us
  job.phases = {{1000, {{0, 300, 0}}}};
  const auto one =
      Differential::from_one(job.run("all_slow", {10'000}), {4, kRegion});
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_GT(one->fast_ns(), 0);
  for (std::size_t w = 0; w < one->windows(); ++w) {
    EXPECT_GT(one->fast_ns(w), 0);
  }
}

std::string refusal(const Trace& slow, const Trace& fast) {
  const auto made = Differential::from_pair(slow, fast, {10, kRegion});
  EXPECT_FALSE(made);
  if (made) return "";
  EXPECT_EQ(made.error().code, Error::Code::kInvalid);
  return made.error().message;
}

TEST(Differential, RefusesPairsThatAreNone) {
  const auto job = setup_and_solve();
  const Trace slow = job.run("all_slow", kSlow);
  const Trace fast = job.run("all_fast", kFast);

  Trace other = fast;
  other.info.command = {"another"};
  EXPECT_THAT(refusal(slow, other), HasSubstr("\"another\""));
  other = fast;
  other.info.clock = "virtual";
  EXPECT_THAT(refusal(slow, other), HasSubstr("clocks"));
  other = fast;
  other.samples.clear();
  EXPECT_THAT(refusal(slow, other), HasSubstr("fast trace holds no samples"));
  other = fast;
  other.info.machine.clear();
  EXPECT_THAT(refusal(slow, other), HasSubstr("machine"));
  other = fast;
  other.info.machine = "{";
  EXPECT_THAT(refusal(slow, other), HasSubstr("not valid JSON"));
  SyntheticJob bigger = setup_and_solve();
  bigger.machine.tiers[1].capacity *= 2;
  EXPECT_THAT(refusal(slow, bigger.run("all_fast", kFast)),
              HasSubstr("different machines"));
  other = fast;
  for (auto& mapping : other.mappings) {
    mapping.start += Address{1} << 40;
    mapping.end += Address{1} << 40;
    mapping.name = "/dev/shm/another";
  }
  for (auto& sample : other.samples) sample.address += Address{1} << 40;
  EXPECT_THAT(refusal(slow, other), HasSubstr("randomisation"));
  SyntheticJob single = setup_and_solve();
  single.machine.tiers.pop_back();
  EXPECT_THAT(
      refusal(single.run("all_slow", kSlow), single.run("all_fast", kFast)),
      HasSubstr("one tier"));
  EXPECT_FALSE(Differential::from_pair(slow, fast, {0, kRegion}));
  EXPECT_FALSE(Differential::from_pair(slow, fast, {10, 5000}));
  Trace mixed = slow;
  mixed.info.placement = "hottest_first";
  EXPECT_FALSE(Differential::from_one(mixed, {10, kRegion}));
}

}  // namespace
}  // namespace thermocline
