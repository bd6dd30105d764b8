#include "agent/persistence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace thermocline {
namespace {

// Eight regions, each window's accesses in one of them, and a network that
// expects the same of each, always.
struct EightRegions {
  std::vector<ObjectView> objects;
  TierView tiers[2] = {{1 << 20, 0, 80, 80, 1e10, 1e10},
                       {1 << 30, 0, 300, 300, 1e9, 1e9}};
  std::vector<ObjectId> all = std::vector<ObjectId>(8);
  Foretold kept;
  Persistence persistence;

  EightRegions() {
    std::iota(all.begin(), all.end(), ObjectId{0});
    for (const ObjectId i : all) {
      objects.push_back({.id = i, .bytes = 4096, .tier = 1});
    }
  }
  void window(const std::vector<ObjectId>& used, double loads = 100) {
    for (ObjectView& one : objects) one.loads = 0;
    for (const ObjectId i : used) objects[i].loads = loads;
    View view;
    view.objects = objects;
    view.tiers = tiers;
    persistence.see(view, all, kept);
    kept.soon.assign(8, 0.5F);
    kept.bytes.assign(8, 1);
    kept.all_bytes = 8;
    kept.all_soon = 4;
  }
};

TEST(Persistence, ANetworkIsBelievedMoreAtFirst) {
  EightRegions job;
  job.window({0});
  EXPECT_GT(job.kept.trust, 0);
  EXPECT_LT(job.kept.trust, 0.5);
}

TEST(Persistence, IsBelievedWherePhasesLast) {
  EightRegions job;
  for (ObjectId phase = 0; phase < 8; ++phase) {
    for (int i = 0; i < 12; ++i) job.window({phase});
  }
  EXPECT_GT(job.kept.trust, 0.9);
  // All that is lost is expected where it is lost now.
  EXPECT_GT(job.kept.expected(7), 0.9 * 4);
  EXPECT_LT(job.kept.expected(6), 0.1);
}

TEST(Persistence, IsNotWhereEachWindowIsAnother) {
  EightRegions job;
  for (int i = 0; i < 100; ++i) job.window({static_cast<ObjectId>(i % 8)});
  EXPECT_LT(job.kept.trust, 0.01);
  EXPECT_NEAR(job.kept.expected(0), 0.5, 0.01);
}

TEST(Persistence, ChangesItsMindWithTheJob) {
  EightRegions job;
  for (int i = 0; i < 300; ++i) job.window({static_cast<ObjectId>(i % 8)});
  ASSERT_LT(job.kept.trust, 0.01);
  for (int i = 0; i < 300; ++i) job.window({3});
  EXPECT_GT(job.kept.trust, 0.9);
}

TEST(Persistence, AWindowWithoutAnAccessIsNone) {
  EightRegions job;
  for (int i = 0; i < 30; ++i) job.window({2});
  const double trust = job.kept.trust;
  const double expected = job.kept.expected(2);
  for (int i = 0; i < 100; ++i) job.window({});
  EXPECT_EQ(job.kept.trust, trust);
  EXPECT_EQ(job.kept.expected(2), expected);
}

// What comes, goes or was never foretold is no reason for nonsense.
TEST(Persistence, ObjectsMayComeAndGo) {
  EightRegions job;
  for (int i = 0; i < 10; ++i) job.window({0, 1});
  job.objects[1].bytes = 0;
  job.window({0});
  job.kept.bytes[1] = 0;
  job.objects.push_back({.id = 8, .bytes = 4096, .tier = 1});
  job.all.push_back(8);
  for (int i = 0; i < 10; ++i) {
    job.window({0, 8});
    job.kept.resize(9);
    EXPECT_TRUE(std::isfinite(job.kept.trust));
    for (std::size_t k = 0; k < 9; ++k) {
      EXPECT_TRUE(std::isfinite(job.kept.expected(k))) << k;
    }
  }
}

}  // namespace
}  // namespace thermocline
