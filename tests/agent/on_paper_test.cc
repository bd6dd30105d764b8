#include "agent/on_paper.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "policies/packing.h"

namespace thermocline {
namespace {

constexpr Bytes kRegion = Bytes{1} << 18U;

// Sixteen regions of which a quarter fits into fast memory, the first four of
// them there; and who says of each what will be lost, right or wrong.
struct Job {
  std::vector<ObjectView> objects;
  TierView tiers[2] = {{4 * kRegion, 4 * kRegion, 80, 80, 1e10, 1e10},
                       {1 << 30, 12 * kRegion, 300, 300, 1e9, 1e9}};
  FeatureTracker seen;
  Account account{{}};
  Foretold foretold;
  OnPaper paper;

  Job() {
    for (ObjectId i = 0; i < 16; ++i) {
      objects.push_back(
          {.id = i, .bytes = kRegion, .tier = i < 4 ? TierId{0} : TierId{1}});
    }
  }
  // Regions from `hot` on, four of them, are used; those from `said` on are
  // said to be.
  void window(ObjectId hot, ObjectId said, double loads = 20000) {
    const auto in = [](ObjectId first, ObjectId i) {
      return i >= first && i < first + 4;
    };
    foretold.resize(16);
    for (ObjectView& one : objects) {
      one.loads = in(hot, one.id) ? loads : 0;
      foretold.soon[one.id] = in(said, one.id) ? 4.0F : 0.0F;
      foretold.bytes[one.id] = 1;
    }
    foretold.horizon = {.decisions = 5, .lasted = 5, .up = 0.1, .down = 0.1};
    View view;
    view.window_ns = 50'000'000;
    view.objects = objects;
    view.tiers = tiers;
    view.budget = 0;  // nothing may move in truth
    seen.update(view);
    account.allow(view, seen, 0.5, paper.lent_ns(0.5, 10, account));
    paper.follow(view, seen, account, foretold, pack_full);
  }
};

TEST(OnPaper, EarnsWhereForecastsAreRight) {
  Job job;
  for (int w = 0; w < 30; ++w) job.window(8, 8);
  const double earned = job.paper.earned_ns();
  EXPECT_GT(earned, 0);
  EXPECT_DOUBLE_EQ(job.paper.lent_ns(0.5, 1e9, job.account), 0.5 * earned);
  // At most so many windows' time.
  EXPECT_DOUBLE_EQ(job.paper.lent_ns(0.5, 0.001, job.account),
                   0.001 * job.account.mean_window_ns());
}

TEST(OnPaper, LendsNothingWhereTheyAreWrong) {
  Job job;
  for (int w = 0; w < 30; ++w) {
    job.window(0, 8);  // what lies in fast memory is what is used
    EXPECT_EQ(job.paper.earned_ns(), 0) << w;
  }
}

TEST(OnPaper, WhatWasLostIsNoDebt) {
  Job job;
  for (int w = 0; w < 300; ++w) job.window(0, 8);
  ASSERT_EQ(job.paper.earned_ns(), 0);
  for (int w = 0; w < 30; ++w) job.window(8, 8);
  EXPECT_GT(job.paper.earned_ns(), 0);
}

TEST(OnPaper, WhatIsLentMayMove) {
  Job job;
  for (int w = 0; w < 100; ++w) job.window(8, 8);
  View view;
  view.window_ns = 50'000'000;
  view.objects = job.objects;
  view.tiers = job.tiers;
  Account other = job.account;
  const Bytes without = other.allow(view, job.seen, 0.5);
  other = job.account;
  EXPECT_GT(other.allow(view, job.seen, 0.5, 1e9), without);
}

TEST(OnPaper, ObjectsMayComeAndGo) {
  Job job;
  for (int w = 0; w < 10; ++w) job.window(8, 8);
  for (ObjectView& one : job.objects) one.bytes = 0;
  job.window(8, 8);
  for (ObjectView& one : job.objects) {
    one.bytes = kRegion;
    one.tier = one.id >= 8 && one.id < 12 ? TierId{0} : TierId{1};
  }
  const double before = job.paper.earned_ns();
  // Born where they are hot: nothing is to be earned there any more.
  for (int w = 0; w < 10; ++w) job.window(8, 8);
  EXPECT_LE(job.paper.earned_ns(), before);
}

}  // namespace
}  // namespace thermocline
