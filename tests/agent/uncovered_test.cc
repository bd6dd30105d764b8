#include "agent/uncovered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/agent/two_tiers_view.h"

namespace thermocline {
namespace {

constexpr ObjectId kObjects = 128;
constexpr double kLoads = 199;  // that one sample stands for

// Regions, half of them in fast memory, of which fast memory hides all but one
// access in `hides`.
struct Job : TwoTiersView {
  std::vector<double> rate;  // samples a window, in slow memory
  double hides = 8;
  double pace = 1;
  Uncovered uncovered;
  std::mt19937_64 rng{7};

  explicit Job(double hidden = 8)
      : TwoTiersView(kObjects, [](ObjectId i) { return i % 2 == 0; }),
        rate(kObjects, 10),
        hides(hidden) {}

  View window() {
    for (ObjectView& one : objects) {
      const double hidden = one.tier == 0 ? hides : 1;
      const double mean = pace * rate[one.id] / hidden;
      one.loads =
          kLoads * (mean > 0 ? std::poisson_distribution<>(mean)(rng) : 0);
    }
    return uncovered.see(view());
  }

  // So many windows, some swapped every fourth; the most that it came to.
  double play(int windows, std::size_t some) {
    double most = 1;
    for (int w = 0; w < windows; ++w) {
      window();
      most = std::max(most, uncovered.times());
      if (w % 4 == 3) swap_by_looks(some);
    }
    return most;
  }

  // A quarter of the regions is used ten times a window, the others as told.
  void heat_quarter(int which, double others) {
    for (ObjectId i = 0; i < kObjects; ++i) {
      const int quarter = static_cast<int>(i / (kObjects / 4));
      rate[i] = quarter == which ? 10 : others;
    }
  }

  // Of `some` in each tier, those that look hottest in slow memory take the
  // place of those that look coldest in fast, as a policy would have it.
  void swap_by_looks(std::size_t some) {
    std::vector<ObjectId> slow;
    std::vector<ObjectId> fast;
    for (const ObjectView& one : objects) {
      (one.tier == 0 ? fast : slow).push_back(one.id);
    }
    const auto colder = [&](ObjectId a, ObjectId b) {
      return objects[a].loads < objects[b].loads;
    };
    std::ranges::sort(slow, colder);
    std::ranges::sort(fast, colder);
    for (std::size_t i = 0; i < some; ++i) {
      objects[slow[slow.size() - 1 - i]].tier = 0;
      objects[fast[i]].tier = 1;
    }
  }
};

double sum(const View& view, bool fast) {
  double out = 0;
  for (const ObjectView& one : view.objects) {
    if ((one.tier == 0) == fast) out += one.loads;
  }
  return out;
}

TEST(Uncovered, WhatFastMemoryHidesIsToldByWhatMoves) {
  Job job;
  job.play(40, 4);
  EXPECT_GT(job.uncovered.times(), 4);
  EXPECT_LT(job.uncovered.times(), 10);
  const View view = job.window();
  EXPECT_NEAR(sum(view, true) / sum(view, false), 1, 0.5);
}

TEST(Uncovered, WaitsOfWhatIsHiddenCountAsOften) {
  Job job;
  job.play(40, 4);
  for (ObjectView& one : job.objects) one.waited = one.stores = 100;
  const View view = job.window();
  for (const ObjectView& one : view.objects) {
    const double times = one.tier == 0 ? job.uncovered.times() : 1;
    EXPECT_DOUBLE_EQ(one.waited, 100 * times);
    EXPECT_DOUBLE_EQ(one.stores, 100 * times);
    EXPECT_DOUBLE_EQ(one.loads, times * job.objects[one.id].loads);
  }
}

TEST(Uncovered, ChanceIsNotTakenForIt) {
  // What looked hot is promoted and looks colder, what looked cold hotter.
  Job job(1);
  std::ranges::fill(job.rate, 1);
  EXPECT_LT(job.play(100, 8), 1.5);
}

TEST(Uncovered, APhaseThatEndsIsNotTakenForIt) {
  // What is hot is promoted a few windows later, and is cold soon after.
  Job job(1);
  double most = 1;
  for (int w = 0; w < 120; ++w) {
    job.heat_quarter(w / 8 % 4, 0);
    job.window();
    most = std::max(most, job.uncovered.times());
    if (w % 8 == 4) job.swap_by_looks(16);
  }
  EXPECT_LT(most, 1.3);
}

TEST(Uncovered, AStepThatComesAgainIsNotTakenForIt) {
  // Each part is hot for two windows of eight, and what is hot is promoted when
  // it is about to be cold; what is put out is hot again soon.
  Job job(1);
  double most = 1;
  for (int w = 0; w < 200; ++w) {
    job.heat_quarter(w / 2 % 4, 1);
    job.window();
    if (w > 20) most = std::max(most, job.uncovered.times());
    if (w % 2 == 1) job.swap_by_looks(2);
  }
  EXPECT_LT(most, 1.5);
}

TEST(Uncovered, AJobThatGetsFasterTellsTheSame) {
  // Four times as fast after each move, as a job gets whose hot memory comes:
  // what was promoted has half the accesses that it had before, not an eighth.
  Job job;
  job.pace = 0.1;
  for (int w = 0; w < 20; ++w) {
    job.window();
    if (w % 4 != 3) continue;
    job.swap_by_looks(8);
    job.pace *= 4;
  }
  EXPECT_GT(job.uncovered.times(), 4);
  EXPECT_LT(job.uncovered.times(), 10);
}

TEST(Uncovered, WhatIsHiddenNoMoreIsForgotten) {
  Job job;
  job.play(200, 8);
  EXPECT_GT(job.uncovered.times(), 4);
  job.hides = 1;
  job.play(80, 8);
  EXPECT_LT(job.uncovered.times(), 1.3);
}

TEST(Uncovered, WhatMovesBackAtOnceTellsNothing) {
  Job job;
  for (int w = 0; w < 80; ++w) {
    job.window();
    if (w % 8 == 3) job.swap_by_looks(4);
    if (w % 8 < 6) continue;
    for (ObjectId i = 0; i < kObjects; ++i) {
      job.objects[i].tier = 1 - job.objects[i].tier;
    }
  }
  EXPECT_GT(job.uncovered.times(), 5);
}

TEST(Uncovered, NonsenseIsHandedOn) {
  Job job;
  job.play(20, 4);
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    for (ObjectView& one : job.objects) one.loads = none;
    EXPECT_EQ(job.uncovered.see(job.view()).objects.data(), job.objects.data());
  }
  job.objects[1].loads = 1e300;
  job.objects[3].loads = 1e-300;
  for (ObjectView& one : job.objects) {
    if (std::isnan(one.loads)) one.loads = 0;
  }
  for (int w = 0; w < 20; ++w) {
    job.objects[1].tier = w % 8 < 4 ? 0 : 1;
    job.uncovered.see(job.view());
    EXPECT_GE(job.uncovered.times(), 1);
    EXPECT_LE(job.uncovered.times(), 16);
  }
}

TEST(Uncovered, AViewIsAsGivenWhereNothingMoves) {
  Job job;
  View view;
  for (int w = 0; w < 20; ++w) view = job.window();
  EXPECT_EQ(view.objects.data(), job.objects.data());
  EXPECT_EQ(job.uncovered.times(), 1);
}

TEST(Uncovered, WhatLeavesAndComesBackHasNotMoved) {
  Job job;
  double most = 1;
  for (int w = 0; w < 60; ++w) {
    for (ObjectView& one : job.objects) {
      one.bytes = w % 6 == 5 ? 0 : Bytes{1} << 18U;
      if (one.bytes == 0) one.tier = one.tier == 0 ? 1 : 0;
    }
    job.window();
    most = std::max(most, job.uncovered.times());
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace thermocline
