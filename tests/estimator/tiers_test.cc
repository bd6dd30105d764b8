// Differential on machines of more than two tiers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/differential.h"
#include "estimator/placed_job.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

// Four tiers at 100, 200, 300 and 500 ns; a job of a set-up and a solver.
SyntheticJob job() {
  SyntheticJob out;
  out.objects = 4;
  out.machine.tiers.clear();
  int node = 0;
  for (const auto& [name, ns] : {std::pair{"dram", 100.0},
                                 {"far", 200.0},
                                 {"cxl", 300.0},
                                 {"pmem", 500.0}}) {
    out.machine.tiers.push_back(
        {name, {node++}, Bytes{1} << 34, ns, ns, 0, 0, false});
  }
  out.phases = {{1'000'000, {{0, 100, 0}, {1, 50, 0}}},
                {4'000'000, {{1, 900, 0}, {2, 300, 0}, {3, 20, 100}}}};
  return out;
}

const Trace kPmem = job().run("all_slow", {9'000'001, 40'000'003});
const Trace kCxl = job().run("", {5'000'009, 30'000'007}, {1, 0.9});
const Trace kFar = job().run("", {4'500'000, 15'000'000}, {0.8, 0.9});
const Trace kDram = job().run("all_fast", {4'000'003, 10'000'001}, {0.7, 0.8});

Differential made(const std::map<TierId, const Trace*>& traces) {
  auto out = Differential::from_tiers(traces, {50, kRegion});
  EXPECT_TRUE(out) << out.error().message;
  return *std::move(out);
}

std::vector<TierId> all(TierId tier) { return std::vector<TierId>(4, tier); }

TEST(Tiers, EveryMeasuredTierIsExact) {
  const auto it = made({{0, &kDram}, {1, &kFar}, {2, &kCxl}, {3, &kPmem}});
  const double times[] = {14'000'004, 19'500'000, 35'000'016, 49'000'004};
  for (TierId t = 0; t < 4; ++t) {
    EXPECT_TRUE(it.measured(t));
    EXPECT_EQ(it.total_ns(all(t)), times[t]) << it.machine().tiers[t].name;
    EXPECT_EQ(*it.error_ns(all(t)), 0) << "it was measured";
    double sum = 0;
    for (std::size_t w = 0; w < it.windows(); ++w) {
      sum += it.window_ns(w, all(t));
    }
    EXPECT_EQ(sum, times[t]);
  }
  EXPECT_FALSE(it.modelled());
}

TEST(Tiers, ATierWithoutATraceLiesBetweenItsNeighboursAndIsNotMeasured) {
  const auto it = made({{0, &kDram}, {2, &kCxl}, {3, &kPmem}});
  EXPECT_FALSE(it.measured(1));
  EXPECT_TRUE(it.measured(2));
  // 200 ns is half way from 100 to 300.
  EXPECT_NEAR(it.total_ns(all(1)), (14'000'004 + 35'000'016) / 2.0, 1);
  EXPECT_EQ(it.total_ns(all(2)), 35'000'016);
  EXPECT_GT(*it.error_ns(all(1)), 0);
}

TEST(Tiers, TwoTracesAreThePair) {
  const auto pair = Differential::from_pair(kPmem, kDram, {50, kRegion});
  ASSERT_TRUE(pair);
  const auto it = made({{0, &kDram}, {3, &kPmem}});
  EXPECT_TRUE(it.measured(0) && it.measured(3) && !it.measured(2));
  for (unsigned code = 0; code < 256; ++code) {
    std::vector<TierId> placement;
    for (unsigned o = 0; o < 4; ++o) {
      placement.push_back(static_cast<TierId>(code >> (2 * o) & 3));
    }
    EXPECT_EQ(it.total_ns(placement), pair->total_ns(placement));
    EXPECT_EQ(it.error_ns(placement), pair->error_ns(placement));
  }
}

TEST(Tiers, MovesAddUpAndFollowThePlacement) {
  const auto it = made({{0, &kDram}, {2, &kCxl}, {3, &kPmem}});
  PlacedJob placed(it, all(3));
  unsigned state = 7;
  for (int i = 0; i < 500; ++i) {
    state = state * 1664525U + 1013904223U;
    const auto object = static_cast<ObjectId>(state >> 20 & 3);
    const auto tier = static_cast<TierId>(state >> 25 & 3);
    const double after = placed.total_ns_after(object, tier);
    placed.move(object, tier);
    EXPECT_EQ(placed.total_ns(), after);
    EXPECT_EQ(placed.total_ns(), it.total_ns(placed.placement()));
    EXPECT_TRUE(std::isfinite(placed.total_ns()));
  }
}

TEST(Tiers, AFasterTierIsNeverSlower) {
  const auto it = made({{0, &kDram}, {1, &kFar}, {2, &kCxl}, {3, &kPmem}});
  for (ObjectId o = 0; o < 4; ++o) {
    for (TierId t = 1; t < 4; ++t) {
      std::vector<TierId> slower = all(3), faster = all(3);
      slower[o] = t;
      faster[o] = static_cast<TierId>(t - 1);
      // The far tier's run has other shares than the others', so one object
      // alone may be off by what chance does to them.
      EXPECT_LE(it.total_ns(faster), it.total_ns(slower) + 1e5)
          << "object " << o << " from tier " << int{t};
    }
  }
  EXPECT_EQ(it.slowness(0), 0);
  EXPECT_EQ(it.slowness(3), 1);
  EXPECT_NEAR(it.slowness(2), 21.0 / 35, 1e-6) << "by the measured times";
}

TEST(Tiers, CostsOfObjectsSumToTheTime) {
  const auto it = made({{0, &kDram}, {2, &kCxl}, {3, &kPmem}});
  const std::vector<TierId> placement{0, 1, 2, 3};
  for (std::size_t w = 0; w < it.windows(); ++w) {
    double sum = it.fast_ns(w), slow = it.fast_ns(w);
    it.each_cost(w, placement, [&](const Differential::Cost& cost) {
      sum += cost.now_ns;
      slow += cost.slow_ns;
    });
    EXPECT_NEAR(sum, it.window_ns(w, placement), 1e-3);
    EXPECT_NEAR(slow, it.slow_ns(w), 1e-3);
  }
}

TEST(Tiers, RefusesWhatIsMissing) {
  const auto refusal = [](const std::map<TierId, const Trace*>& traces) {
    const auto out = Differential::from_tiers(traces, {50, kRegion});
    return out ? std::string() : out.error().message;
  };
  EXPECT_THAT(refusal({{0, &kDram}, {2, &kCxl}}), HasSubstr("slowest"));
  EXPECT_THAT(refusal({{2, &kCxl}, {3, &kPmem}}), HasSubstr("fastest"));
  EXPECT_THAT(refusal({{0, &kDram}, {4, &kPmem}}), HasSubstr("no tier 4"));
  Trace other = kCxl;
  other.samples.clear();
  EXPECT_THAT(refusal({{0, &kDram}, {2, &other}, {3, &kPmem}}),
              HasSubstr("the cxl trace holds no samples"));
  other = kCxl;
  other.info.command = {"another"};
  EXPECT_THAT(refusal({{0, &kDram}, {2, &other}, {3, &kPmem}}),
              HasSubstr("another"));
}

}  // namespace
}  // namespace thermocline
