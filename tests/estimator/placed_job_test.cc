// Estimates as sums of benefits: alone, move by move, and in batches.
#include "estimator/placed_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

constexpr ObjectId kObjects = 200;

// Whose samples tell no instruction: nothing overlaps.
// Unless `gains`, one phase is slower in fast memory, by noise.
Differential plain_job(const Machine& machine = two_tiers(),
                       bool gains = false) {
  SyntheticJob job;
  job.objects = kObjects;
  job.machine = machine;
  job.phases.resize(3);
  for (ObjectId o = 0; o < kObjects; ++o) {
    job.phases[o % 3].touches.push_back({o, int(o % 17) + 1, int(o % 5)});
  }
  for (auto& phase : job.phases) phase.instructions = 1'000'000;
  auto made = Differential::from_pair(
      job.run("all_slow", {7'000'001, 900'000, 50'003}),
      job.run("all_fast", {3'000'011, gains ? 450'000 : 950'000, 20'001}),
      {40, kRegion});
  CHECK(made);
  return *std::move(made);
}

// Half of whose samples stream: two links carry more than one.
Trace streaming_run(bool slow) {
  Trace trace;
  trace.info.command = {"streaming"};
  trace.info.placement = slow ? "all_slow" : "all_fast";
  trace.info.machine = two_tiers().to_json();
  const Bytes bytes = kObjects * kRegion;
  const Address base = SyntheticJob::address(0);
  trace.mappings.push_back({0, base, base + bytes, "rw-p", "[heap]"});
  std::mt19937_64 rng(slow ? 1 : 2);
  Nanos time = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    Sample sample;
    const bool streams = rng() % 2 == 0;
    sample.ip = streams ? 0x401000 : 0x402000 + 16 * (rng() % 2);
    sample.address = base + (streams ? i * 97 * 64 : rng() % bytes) % bytes;
    sample.time = time += slow ? 2'000 : 700;
    sample.period = 97;
    trace.samples.push_back(sample);
  }
  trace.marks.push_back({0, "start"});
  trace.marks.push_back({time, "end"});
  trace.end = {true, 0, time};
  trace.sort();
  return trace;
}

Differential saving_job() {
  auto made = Differential::from_pair(streaming_run(true), streaming_run(false),
                                      {10, kRegion});
  CHECK(made);
  return *std::move(made);
}

std::vector<TierId> all(const Differential& of, TierId tier) {
  return std::vector<TierId>(of.objects().size(), tier);
}

std::vector<TierId> some(const Differential& of, std::mt19937& rng) {
  auto tiers = all(of, 0);
  const auto count = static_cast<unsigned>(of.machine().tiers.size());
  for (auto& tier : tiers) tier = static_cast<TierId>(rng() % count);
  return tiers;
}

Machine three_tiers() {
  Machine machine = two_tiers();
  machine.tiers[0].read_ns = 100;
  machine.tiers[1].read_ns = 400;
  Tier middle = machine.tiers[0];
  middle.name = "middle";
  middle.nodes = {2};
  middle.read_ns = 237;
  machine.tiers.insert(machine.tiers.begin() + 1, middle);
  return machine;
}

std::vector<Differential> jobs() {
  return {plain_job(), plain_job(three_tiers()), saving_job()};
}

TEST(PlacedJob, TheJobsAreWithAndWithoutSavings) {
  std::mt19937 rng(1);
  const auto saving = saving_job();
  EXPECT_GT(saving.savings().saved(some(saving, rng)), 0);
  const auto plain = plain_job();
  EXPECT_EQ(plain.savings().saved(some(plain, rng)), 0);
}

TEST(PlacedJob, TotalIsTheSumOfTheWindows) {
  std::mt19937 rng(2);
  for (const auto& job : jobs()) {
    for (int i = 0; i < 20; ++i) {
      const auto tiers = some(job, rng);
      double sum = 0;
      for (std::size_t w = 0; w < job.windows(); ++w) {
        sum += job.window_ns(w, tiers);
      }
      EXPECT_TRUE(std::isfinite(sum));
      EXPECT_NEAR(job.total_ns(tiers), sum, 1);  // nanosecond of milliseconds
    }
  }
}

TEST(PlacedJob, FollowsAnyMovesToTheLastBit) {
  std::mt19937 rng(3);
  for (const auto& job : jobs()) {
    PlacedJob placed(job, some(job, rng));
    const auto tiers = job.machine().tiers.size();
    // A move runs every stretch of samples anew that the object is in.
    const int moves = job.savings().stretches() > 0 ? 100 : 5000;
    for (int i = 0; i < moves; ++i) {
      const auto object = static_cast<ObjectId>(rng() % kObjects);
      const auto to = static_cast<TierId>(rng() % tiers);
      const double before = placed.total_ns();
      const double after = placed.total_ns_after(object, to);
      EXPECT_EQ(placed.total_ns(), before);
      placed.move(object, to);
      EXPECT_EQ(placed.total_ns(), after);
      if (i % 100 == 0) {
        ASSERT_EQ(after, job.total_ns(placed.placement())) << "move " << i;
      }
    }
    const auto slowest = static_cast<TierId>(tiers - 1);
    for (ObjectId o = 0; o < kObjects; ++o) placed.move(o, slowest);
    EXPECT_EQ(placed.total_ns(), job.slow_ns());
    for (ObjectId o = 0; o < kObjects; ++o) placed.move(o, 0);
    EXPECT_EQ(placed.total_ns(), job.fast_ns());
  }
}

TEST(PlacedJob, MovesAddUpWhereNothingIsSaved) {
  const auto job = plain_job();
  std::mt19937 rng(4);
  for (int i = 0; i < 200; ++i) {
    PlacedJob placed(job, some(job, rng));
    const auto a = static_cast<ObjectId>(rng() % (kObjects / 2));
    const auto b = static_cast<ObjectId>(kObjects / 2 + rng() % 100);
    const double start = placed.total_ns();
    const double by_a = placed.total_ns_after(a, 0) - start;
    const double by_b = placed.total_ns_after(b, 0) - start;
    placed.move(a, 0);
    placed.move(b, 0);
    EXPECT_EQ(placed.total_ns() - start, by_a + by_b);
  }
}

TEST(PlacedJob, MovesDoNotAddUpWhereSomethingIs) {
  // That the test above can fail.
  const auto job = saving_job();
  PlacedJob placed(job, all(job, 1));
  double apart = 0;
  for (ObjectId o = 0; o < kObjects / 2; ++o) {
    apart += placed.total_ns_after(o, 0) - job.slow_ns();
  }
  for (ObjectId o = 0; o < kObjects / 2; ++o) placed.move(o, 0);
  EXPECT_GT(std::abs(placed.total_ns() - job.slow_ns() - apart), 1e3);
}

TEST(PlacedJob, EqualPagesAreWorthTheSame) {
  SyntheticJob made;
  made.objects = 8;
  made.phases = {{1'000'000, {}}};
  for (ObjectId o = 0; o < 8; ++o) made.phases[0].touches.push_back({o, 90, 9});
  const auto job =
      Differential::from_pair(made.run("all_slow", {9'000'000}),
                              made.run("all_fast", {2'000'000}), {5, kRegion});
  ASSERT_TRUE(job);
  std::vector<TierId> tiers{0, 1, 1, 0, 1, 0, 0, 1};
  const double first = job->total_ns(tiers);
  do {
    EXPECT_NEAR(job->total_ns(tiers), first, 1);
  } while (std::next_permutation(tiers.begin(), tiers.end()));
}

TEST(PlacedJob, ASlowerTierIsNeverFasterWhereNothingIsSaved) {
  const auto job = plain_job(three_tiers(), true);
  for (ObjectId o = 0; o < kObjects; ++o) {
    const auto& benefits = job.benefits();
    EXPECT_EQ(benefits.of(o, 0), 0);
    EXPECT_GE(benefits.of(o, 1), 0) << o;
    EXPECT_GE(benefits.of(o, 2), benefits.of(o, 1)) << o;
  }
}

// By tier, of the one level.
std::vector<std::vector<double>> weights(const std::vector<double>& by_tier) {
  std::vector<std::vector<double>> out;
  for (const double one : by_tier) out.push_back({one});
  return out;
}

TEST(Benefits, ABatchGivesTheSameAsOneByOne) {
  std::mt19937 rng(5);
  // Around the sizes at which the batch goes from one kernel to another.
  for (const std::size_t objects :
       {1, 2, 61, 63, 64, 65, 200, 2047, 2048, 2049, 2109, 8300}) {
    std::vector<double> gain(objects);
    for (auto& one : gain) one = static_cast<double>(rng() % 100'000) / 7 - 99;
    const double sum = std::accumulate(gain.begin(), gain.end(), 0.0);
    const TierGain level{std::round(1e6 + sum), gain};
    const Benefits benefits(1e6, {&level, 1}, weights({0, 0.3, 1}));
    for (const std::size_t count : {0, 1, 3, 4, 9, 261}) {
      std::vector<TierId> tiers(objects * count);
      for (auto& tier : tiers) tier = static_cast<TierId>(rng() % 3);
      for (const unsigned threads : {1u, 2u, 5u}) {
        std::vector<FineNanos> totals(count, -1);
        benefits.totals(tiers, totals, threads);
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_EQ(totals[i], benefits.total(std::span(tiers).subspan(
                                   i * objects, objects)))
              << objects << " objects, placement " << i << " of " << count;
        }
      }
    }
  }
}

TEST(Benefits, AddUpToTheEndpointsHoweverTheyAreRounded) {
  const TierGain level{4321, std::vector<double>(1000, 1.0 / 3)};
  const Benefits benefits(4000, {&level, 1}, weights({0, 1}));
  EXPECT_EQ(to_ns(benefits.total(std::vector<TierId>(1000, 1))), 4321);
  EXPECT_EQ(to_ns(benefits.total(std::vector<TierId>(1000, 0))), 4000);
}

TEST(ErrorBar, IsNoneAtTheEndpointsAndSomeBetween) {
  std::mt19937 rng(6);
  for (const auto& job : jobs()) {
    const auto slowest = static_cast<TierId>(job.machine().tiers.size() - 1);
    EXPECT_EQ(job.error_ns(all(job, 0)), 0);
    EXPECT_EQ(job.error_ns(all(job, slowest)), 0);
    for (int i = 0; i < 20; ++i) {
      const auto error = job.error_ns(some(job, rng));
      ASSERT_TRUE(error);
      EXPECT_TRUE(std::isfinite(*error));
      EXPECT_GT(*error, 0);
    }
  }
}

TEST(ErrorBar, GrowsAsTheTracesDisagree) {
  const std::vector<double> half{1, 0};
  const auto bar = [&](double slow, double fast, double alike, double samples) {
    return Doubt({{slow, fast, alike, samples},
                  {100 - slow, 100 - fast, 100 - alike, samples}},
                 100, true)
        .error_ns(half, 0);
  };
  const double agreed = bar(50, 50, 50, 1e6);
  EXPECT_GT(bar(70, 30, 50, 1e6), 2 * agreed);  // the runs
  EXPECT_GT(bar(50, 50, 80, 1e6), 2 * agreed);  // the costs
  EXPECT_GT(bar(50, 50, 50, 10), 2 * agreed);   // few samples
}

TEST(ErrorBar, IsNotKnownOfAModelledEndpoint) {
  SyntheticJob job;
  job.phases = {{1000, {{0, 300, 0}}}};
  const auto one =
      Differential::from_one(job.run("all_slow", {10'000}), {4, kRegion});
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->error_ns(all(*one, 0)));
}

TEST(Differential, RefusesAYearsRun) {
  SyntheticJob job;
  job.phases = {{1000, {{0, 300, 0}}}};
  Trace slow = job.run("all_slow", {10'000});
  slow.end.run_ns = std::numeric_limits<Nanos>::max() / 2;
  const auto made = Differential::from_pair(slow, job.run("all_fast", {10'000}),
                                            {4, kRegion});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("104 days"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
