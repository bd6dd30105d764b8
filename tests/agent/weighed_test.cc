#include "agent/weighed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/agent/two_tiers_view.h"

namespace thermocline {
namespace {

constexpr ObjectId kObjects = 64;
constexpr double kLoads = 1000;  // that one sample stands for

// 64 regions in slow memory but for the first eight; the upper half are a
// chase, whose loads wait for all of memory's latency, the lower half are
// fetched ahead and wait for a twentieth of it. Each is loaded alike.
struct Job : TwoTiersView {
  Weighed weighed;
  std::mt19937_64 rng{7};

  Job() : TwoTiersView(kObjects, [](ObjectId i) { return i < 8; }) {}
  static double latency(const ObjectView& one) {
    return one.tier == 0 ? 100 : 300;
  }
  static double waits(ObjectId i) { return i < kObjects / 2 ? 0.05 : 1; }

  // A window of one sample each, which waits for all of it or for nothing.
  View window(bool told = true) {
    for (ObjectView& one : objects) {
      one.loads = kLoads;
      const bool waited =
          static_cast<double>(rng() % 1000) < 1000 * waits(one.id);
      one.waited = told && waited ? 2 * kLoads * latency(one) : 0;
    }
    return weighed.see(view());
  }
};

double sum(const View& view, ObjectId first, ObjectId last) {
  double out = 0;
  for (ObjectId i = first; i < last; ++i) out += view.objects[i].loads;
  return out;
}

TEST(Weighed, WhatWaitsCountsForMore) {
  Job job;
  View view;
  for (int w = 0; w < 40; ++w) view = job.window();
  // Twenty times as much in truth; what is taken to be like all holds it back.
  EXPECT_GT(sum(view, 40, 56), 8 * sum(view, 8, 24));
  // What fast memory hides of it nobody knows; of a chase it is nothing.
  EXPECT_LT(sum(view, 0, 8), 4 * sum(view, 16, 24));
  EXPECT_LT(2 * sum(view, 0, 8), sum(view, 40, 48));
  EXPECT_NEAR(sum(view, 0, kObjects), kLoads * kObjects,
              0.3 * kLoads * kObjects);
}

// Once it has been in slow memory long enough, it is known.
TEST(Weighed, WhatWasSeenInSlowMemoryStays) {
  Job job;
  for (ObjectId i = 0; i < 8; ++i) job.objects[i].tier = 1;
  for (int w = 0; w < 300; ++w) job.window();
  for (ObjectId i = 0; i < 8; ++i) job.objects[i].tier = 0;
  View view;
  for (int w = 0; w < 40; ++w) view = job.window();
  EXPECT_NEAR(sum(view, 0, 8) / sum(view, 16, 24), 1, 0.5);
}

// After one window of one sample each nobody is far from all.
TEST(Weighed, FewSamplesSayLittle) {
  Job job;
  const View view = job.window();
  for (const ObjectView& one : view.objects) {
    EXPECT_GT(one.loads, kLoads / 10);
    EXPECT_LT(one.loads, 3 * kLoads);
  }
}

// What is new among what waits is taken to wait, before it did.
TEST(Weighed, BeginsLikeItsNeighbours) {
  Job job;
  for (int w = 0; w < 40; ++w) job.window();
  for (ObjectView& one : job.objects) {
    one.loads = one.id == 60 ? kLoads : 0;
    one.waited = 0;
  }
  job.objects.push_back(
      {.id = kObjects, .bytes = Bytes{1} << 18U, .loads = kLoads, .tier = 1});
  const View out = job.weighed.see(job.view());
  EXPECT_GT(out.objects[kObjects].loads, kLoads);
}

TEST(Weighed, AsGivenWhereNobodyTells) {
  Job job;
  for (int w = 0; w < 5; ++w) {
    const View view = job.window(false);
    EXPECT_EQ(view.objects.data(), job.objects.data());
    for (const ObjectView& one : view.objects) EXPECT_EQ(one.loads, kLoads);
  }
}

// Neither windows without an access nor tiers that do not say what they cost.
TEST(Weighed, NothingToGoBy) {
  Job job;
  for (TierView& tier : job.tiers) tier = {tier.capacity, tier.used};
  for (int w = 0; w < 5; ++w) {
    for (const ObjectView& one : job.window().objects) {
      EXPECT_TRUE(std::isfinite(one.loads));
    }
  }
  Job quiet;
  for (int w = 0; w < 5; ++w) quiet.window();
  for (ObjectView& one : quiet.objects) one.loads = one.waited = 0;
  View view;
  view.objects = quiet.objects;
  view.tiers = quiet.tiers;
  for (const ObjectView& one : quiet.weighed.see(view).objects) {
    EXPECT_EQ(one.loads, 0);
  }
}

}  // namespace
}  // namespace thermocline
