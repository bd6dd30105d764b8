// What overlaps between three tiers, of jobs whose every time is known: they
// are core runs themselves (core_run.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "estimator/class_costs.h"
#include "estimator/core_run.h"
#include "estimator/differential.h"
#include "estimator/mixed_run.h"
#include "estimator/placed_job.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

constexpr std::size_t kArrays = 3;
constexpr Bytes kArray = 64 << 20;
constexpr std::uint32_t kPasses = 6;
constexpr std::uint32_t kPeriod = kPasses * kGroup;
constexpr std::size_t kSamples = 12'000;
constexpr Address kBase = 0x10000000;

// 10, 20 and 40 ns a line.
Machine three_links() {
  Machine machine = two_tiers();
  machine.cycles_per_ns = 3;
  machine.tiers.clear();
  for (const auto& [name, latency, line] : {std::tuple{"dram", 100.0, 10.0},
                                            {"cxl", 200.0, 20.0},
                                            {"pmem", 300.0, 40.0}}) {
    const double speed = 64e9 / line;
    machine.tiers.push_back({name,
                             {static_cast<int>(machine.tiers.size())},
                             Bytes{1} << 34,
                             latency,
                             latency,
                             speed,
                             speed,
                             false});
  }
  return machine;
}

using Tiers = std::array<TierId, kArrays>;

// One array is read in order, one at random, and one by a chase.
std::vector<AccessShape> shapes() {
  AccessShape shape;
  shape.instructions = 20;
  shape.read_ns = {10, 20, 40};
  shape.latency_ns = {100, 200, 300};
  std::vector<AccessShape> all(kArrays, shape);
  all[0].sequential = true;
  all[2].needed = 1;
  return all;
}

Trace run(const std::string& placement, const Tiers& tiers) {
  Trace trace;
  trace.info.command = {"mixture"};
  trace.info.placement = placement;
  trace.info.machine = three_links().to_json();
  trace.mappings.push_back(
      {0, kBase, kBase + kArrays * kArray, "rw-p", "[heap]"});
  const AccessModel made{shapes()};
  std::vector<SeenAccesses> seen(kArrays);
  CoreRun core(made, seen);
  std::mt19937_64 random(5);
  std::vector<Step> steps(kGroup);
  Bytes read = 0;  // of the first array
  for (std::size_t i = 0; i < kSamples; ++i) {
    std::uint64_t streamed = 0;
    seen.assign(kArrays, {});
    // In turns, one of them is read more often than the others.
    const std::size_t most = i / 64 % kArrays;
    for (Step& step : steps) {
      step.shape = static_cast<std::uint16_t>(
          random() % 2 == 0 ? most : random() % kArrays);
      step.tier = tiers[step.shape];
      streamed += step.shape == 0 ? kPasses : 0;
    }
    const auto shape = steps[random() % kGroup].shape;
    core.run(steps, kPasses);
    read = (read + streamed * 64) % kArray;
    Sample sample;
    sample.time = std::llround(core.now());
    sample.ip = 0x401000 + 64 * Address{shape};
    sample.address = kBase + shape * kArray +
                     (shape == 0 ? read : random() % kArray / 64 * 64);
    sample.period = kPeriod;
    sample.latency =
        static_cast<std::uint32_t>(std::lround(3 * seen[shape].latency.mean()));
    trace.samples.push_back(sample);
  }
  trace.marks.push_back({0, "start"});
  trace.marks.push_back({std::llround(core.now()), "end"});
  trace.end = {true, 0, std::llround(core.now())};
  trace.sort();
  return trace;
}

std::vector<TierId> placed(const Differential& job, const Tiers& tiers) {
  std::vector<TierId> out;
  for (const auto& region : job.objects()) {
    out.push_back(tiers[(region.start - kBase) / kArray]);
  }
  return out;
}

struct Made {
  const Trace fast = run("all_fast", {0, 0, 0});
  const Trace middle = run("", {1, 1, 1});
  const Trace slow = run("all_slow", {2, 2, 2});
  Differential of(bool traced) const {
    std::map<TierId, const Trace*> traces{{0, &fast}, {2, &slow}};
    if (traced) traces[1] = &middle;
    auto job = Differential::from_tiers(traces, {.windows = 20});
    EXPECT_TRUE(job) << job.error().message;
    return *std::move(job);
  }
};

const Made& made() {
  static const Made all;
  return all;
}

TEST(TierSavings, EveryTracedTierIsExact) {
  const auto job = made().of(true);
  const Trace* const runs[] = {&made().fast, &made().middle, &made().slow};
  for (TierId t = 0; t < 3; ++t) {
    const auto all = placed(job, {t, t, t});
    EXPECT_EQ(job.total_ns(all), static_cast<double>(runs[t]->run_ns()));
    EXPECT_EQ(job.savings().saved(all), 0);
  }
}

// Mean errors over all ways to put three arrays into three tiers, but for those
// of one tier.
struct Errors {
  double sum = 0;
  double without_savings = 0;
  int count = 0;
};
void add(const Differential& job, const Tiers& tiers, Errors& errors) {
  const auto truth = static_cast<double>(run("", tiers).run_ns());
  const auto placement = placed(job, tiers);
  const double without = to_ns(job.benefits().total(placement));
  errors.sum += std::abs(job.total_ns(placement) / truth - 1);
  errors.without_savings += std::abs(without / truth - 1);
  ++errors.count;
}

// How the accesses are made is learned from the slow and the fast run alone, so
// what is wrong of these two tiers is wrong of the third, too, but no more.
TEST(TierSavings, MixesWithATierBetweenAreToldAsWellAsThoseOfTheEnds) {
  for (const bool traced : {true, false}) {
    const auto job = made().of(traced);
    Errors ends, middle;
    for (unsigned code = 0; code < 27; ++code) {
      const Tiers tiers{static_cast<TierId>(code % 3),
                        static_cast<TierId>(code / 3 % 3),
                        static_cast<TierId>(code / 9)};
      if (tiers[0] == tiers[1] && tiers[1] == tiers[2]) continue;
      const bool between = std::count(tiers.begin(), tiers.end(), 1) > 0;
      add(job, tiers, between ? middle : ends);
    }
    EXPECT_EQ(middle.count, 18);
    EXPECT_LE(middle.sum / middle.count, ends.sum / ends.count);
    EXPECT_LT(middle.sum, middle.without_savings);
    std::printf(
        "%s: errors of %.1f %%, without savings %.1f %%; ends %.1f %%\n",
        traced ? "traced" : "not traced", 100 * middle.sum / middle.count,
        100 * middle.without_savings / middle.count,
        100 * ends.sum / ends.count);
  }
}

// Of which all is known, how its accesses are made and what they take with all
// in one tier: 256 samples of three objects, whose placement gives the core's
// very time.
TEST(TierSavings, AKnownMixTakesWhatTheCoreTakes) {
  const AccessModel known{shapes()};
  const std::vector<std::uint32_t> company(kArrays, 0);
  std::mt19937 random(3);
  std::vector<std::uint16_t> kinds(256);
  for (auto& kind : kinds)
    kind = static_cast<std::uint16_t>(random() % kArrays);
  const auto core = [&](const Tiers& tiers) {
    MixedRun mixed(known, company, 16);
    for (const auto kind : kinds) mixed.add({kind, tiers[kind]});
    return 256 * mixed.ns_per_access();
  };
  ByTier each{};  // that every sample takes
  for (TierId t = 0; t < 3; ++t) each[t] = core({t, t, t}) / 256;
  Savings savings(3, std::vector<ByTier>(kArrays, each), {known}, company);
  for (const auto kind : kinds) savings.add(kind, kind);
  savings.end_window({1, 1, 1});
  savings.index(kArrays);
  for (unsigned code = 0; code < 27; ++code) {
    const Tiers tiers{static_cast<TierId>(code % 3),
                      static_cast<TierId>(code / 3 % 3),
                      static_cast<TierId>(code / 9)};
    double apart = 0;
    for (const auto kind : kinds) apart += each[tiers[kind]];
    EXPECT_NEAR(apart - savings.saved_ns(0, tiers), core(tiers), 0.01) << code;
  }
}

TEST(TierSavings, MovesAndBatchesFollowThePlacementExactly) {
  const auto job = made().of(true);
  std::mt19937 random(1);
  std::vector<TierId> some(job.objects().size());
  for (auto& tier : some) tier = static_cast<TierId>(random() % 3);
  PlacedJob one(job, some);
  std::vector<TierId> all;
  std::vector<FineNanos> one_by_one;
  for (int i = 0; i < 12; ++i) {
    const auto object = static_cast<ObjectId>(random() % some.size());
    const auto to = static_cast<TierId>(random() % 3);
    const double after = one.total_ns_after(object, to);
    one.move(object, to);
    EXPECT_EQ(one.total_ns(), after);
    EXPECT_EQ(one.total_ns(), job.total_ns(one.placement()));
    all.insert(all.end(), one.placement().begin(), one.placement().end());
    one_by_one.push_back(to_fine(one.total_ns()));
  }
  for (const unsigned threads : {1U, 2U, 3U}) {
    std::vector<FineNanos> totals(one_by_one.size(), -1);
    job.totals(all, totals, threads);
    EXPECT_EQ(totals, one_by_one) << threads << " threads";
  }
}

}  // namespace
}  // namespace thermocline
