#include "agent/autoregression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace thermocline {
namespace {

// Regions of one size, and a network that expects the same of each, always.
struct Regions {
  static constexpr std::size_t kRegions = 64;

  std::vector<ObjectView> objects;
  TierView tiers[2] = {{1 << 22, 0, 80, 80, 1e10, 1e10},
                       {1 << 30, 0, 300, 300, 1e9, 1e9}};
  Foretold kept;
  FeatureTracker seen;
  Autoregression past;

  Regions() {
    for (std::size_t i = 0; i < kRegions; ++i) add();
  }
  void add() {
    objects.push_back({.id = static_cast<ObjectId>(objects.size()),
                       .bytes = Bytes{1} << 18U,
                       .tier = 1});
  }
  void window(const std::function<double(std::size_t)>& loads) {
    for (ObjectView& one : objects) {
      one.loads = one.bytes > 0 ? loads(one.id) : 0;
    }
    View view;
    view.window_ns = 10'000'000;
    view.objects = objects;
    view.tiers = tiers;
    seen.update(view);
    past.see(view, seen, kept);
    // As the network's turn leaves it.
    kept.soon.assign(objects.size(), 0.3F);
    kept.bytes.assign(objects.size(), 1);
    kept.all_bytes = static_cast<double>(objects.size());
    kept.all_soon = 0.3 * kept.all_bytes;
  }
  // Of which region most is expected, of so many from `first` on.
  std::size_t most(std::size_t first, std::size_t count) const {
    std::size_t best = first;
    for (std::size_t i = first; i < first + count; ++i) {
      if (kept.expected(i) > kept.expected(best)) best = i;
    }
    return best;
  }
};

TEST(Autoregression, ANetworkAloneCountsAtFirst) {
  Regions job;
  job.window([](std::size_t i) { return i == 3 ? 1000.0 : 0.0; });
  for (std::size_t i = 0; i < Regions::kRegions; ++i) {
    EXPECT_NEAR(job.kept.expected(i), 0.3, 1e-6) << i;
  }
}

TEST(Autoregression, WhatIsUsedGoesOnBeingUsedWherePhasesLast) {
  Regions job;
  for (const std::size_t phase : {3U, 6U, 1U, 4U, 0U, 5U, 2U, 7U}) {
    for (int w = 0; w < 20 && (phase != 7 || w < 10); ++w) {
      job.window([&](std::size_t i) { return i / 8 == phase ? 500.0 : 0.0; });
    }
  }
  double used = 0;
  double idle = 0;
  for (std::size_t i = 0; i < 56; ++i) idle += job.kept.expected(i) / 56;
  for (std::size_t i = 56; i < 64; ++i) used += job.kept.expected(i) / 8;
  EXPECT_GT(used, 3 * 0.3);  // that the network says of each
  EXPECT_LT(idle, 0.3);
}

// What lies ahead of a sweep will be used; what lies behind it was.
TEST(Autoregression, LooksAheadOfASweep) {
  Regions job;
  std::size_t at = 0;
  for (int w = 0; w < 300; ++w) {
    at = static_cast<std::size_t>(w) % Regions::kRegions;
    job.window([&](std::size_t i) { return i == at ? 2000.0 : 0.0; });
  }
  ASSERT_EQ(at, 43U);
  EXPECT_GT(job.most(28, 32), 43U);
  EXPECT_GT(job.kept.expected(44), 5 * job.kept.expected(42));
  EXPECT_GT(job.kept.expected(47), 5 * job.kept.expected(39));
}

TEST(Autoregression, ASweepBackwardsAsWell) {
  Regions job;
  for (int w = 0; w < 300; ++w) {
    const std::size_t at =
        Regions::kRegions - 1 - static_cast<std::size_t>(w) % Regions::kRegions;
    job.window([&](std::size_t i) { return i == at ? 2000.0 : 0.0; });
  }
  EXPECT_LT(job.most(4, 32), 20U);
  EXPECT_GT(job.kept.expected(19), 5 * job.kept.expected(21));
}

TEST(Autoregression, LooksAsFarAheadAsAThirdOfWhatItHasSeen) {
  Regions job;
  for (int w = 1; w <= 60; ++w) {
    job.window([](std::size_t i) { return i < 8 ? 500.0 : 0.0; });
    const double expected = w < 24 ? 5 : w < 36 ? 8 : w < 48 ? 12 : 16;
    ASSERT_EQ(job.kept.decisions, expected) << w;
  }
}

TEST(Autoregression, AWindowWithoutAnAccessIsNone) {
  Regions job;
  for (int w = 0; w < 30; ++w) {
    job.window([](std::size_t i) { return i < 8 ? 500.0 : 0.0; });
  }
  const double expected = job.kept.expected(2);
  for (int w = 0; w < 100; ++w) job.window([](std::size_t) { return 0.0; });
  EXPECT_EQ(job.kept.expected(2), expected);
  EXPECT_EQ(job.kept.decisions, 8);
}

// What comes, goes or was never foretold is no reason for nonsense.
TEST(Autoregression, ObjectsMayComeAndGo) {
  Regions job;
  const auto check = [&] {
    for (std::size_t i = 0; i < job.objects.size(); ++i) {
      ASSERT_TRUE(std::isfinite(job.kept.expected(i))) << i;
      ASSERT_GE(job.kept.expected(i), 0) << i;
    }
  };
  for (int w = 0; w < 40; ++w) {
    if (w % 3 == 0) job.add();
    if (w == 10) job.objects[3].bytes = 0;
    if (w == 20) job.objects[3].bytes = 4096;
    if (w == 30) {
      for (std::size_t i = 5; i < 60; ++i) job.objects[i].bytes = 0;
    }
    job.window([&](std::size_t i) {
      return (i * 7 + static_cast<std::size_t>(w)) % 5 == 0 ? 1e9 : 0.0;
    });
    check();
  }
  job.window([](std::size_t i) { return i == 0 ? 1e-9 : 0.0; });
  check();
}

TEST(Autoregression, SameViewsSameBits) {
  Regions a;
  Regions b;
  for (int w = 0; w < 50; ++w) {
    for (Regions* job : {&a, &b}) {
      job->window([&](std::size_t i) {
        return static_cast<double>((i * 31 + static_cast<std::size_t>(w) * 17) %
                                   13);
      });
    }
  }
  EXPECT_EQ(a.kept.past, b.kept.past);
  EXPECT_EQ(a.kept.weight, b.kept.weight);
}

// Of those that it learns from, none may be there any more.
TEST(Autoregression, AllMayGo) {
  Regions job;
  for (int w = 0; w < 5; ++w) job.window([](std::size_t) { return 500.0; });
  for (ObjectView& one : job.objects) one.bytes = 0;
  for (int w = 0; w < 5; ++w) job.window([](std::size_t) { return 500.0; });
  for (ObjectView& one : job.objects) one.bytes = 4096;
  for (int w = 0; w < 20; ++w) {
    job.window([](std::size_t i) { return i < 8 ? 500.0 : 0.0; });
  }
  EXPECT_GT(job.kept.expected(2), 2 * job.kept.expected(40));
}

// More than it learns from in a window: all are foretold.
TEST(Autoregression, OfManyObjectsASampleIsLearnedFrom) {
  Regions job;
  while (job.objects.size() < 20000) job.add();
  for (int w = 0; w < 30; ++w) {
    job.window([](std::size_t i) { return i < 4000 ? 500.0 : 0.0; });
  }
  double used = 0;
  double idle = 0;
  for (std::size_t i = 0; i < 4000; ++i) used += job.kept.expected(i);
  for (std::size_t i = 4000; i < 20000; ++i) idle += job.kept.expected(i);
  EXPECT_GT(used / 4000, 5 * idle / 16000);
}

}  // namespace
}  // namespace thermocline
