#include "agent/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/agent/toy_worlds.h"
#include "tests/contract/policy_contract.h"

namespace thermocline {
namespace {

std::vector<float> rows_after(const World& world, Episode episode,
                              std::size_t steps) {
  Environment environment(world, episode);
  FeatureTracker seen;
  seen.update(environment.view());
  for (std::size_t i = 0; i < steps; ++i) {
    environment.step({});
    seen.update(environment.view());
  }
  return {seen.features().begin(), seen.features().end()};
}

float at(const std::vector<float>& rows, std::size_t object, Feature feature) {
  return rows[object * kFeatures + feature];
}

TEST(Features, SameViewsSameBits) {
  const World world = training_job(1);
  Episode episode;
  episode.keep = 0.5;
  EXPECT_EQ(rows_after(world, episode, 20), rows_after(world, episode, 20));
}

TEST(Features, CountsMatterOnlyRelatively) {
  World world = training_job(1);
  const auto before = rows_after(world, {}, 20);
  for (auto& window : world.windows) {
    for (auto& access : window.accesses) {
      access.loads *= 7;
      access.stores *= 7;
    }
  }
  const auto after = rows_after(world, {}, 20);
  for (std::size_t i = 0; i < world.bytes.size(); ++i) {
    for (const Feature f : {kShortLoads, kLongLoads, kShortStores, kLongStores,
                            kNeighbours, kRecency, kDue}) {
      EXPECT_NEAR(at(before, i, f), at(after, i, f), 1e-5) << i << " " << f;
    }
  }
}

TEST(Features, TellHotFromColdAndPeriodic) {
  const auto rows = rows_after(training_job(1), {}, 39);
  EXPECT_GT(at(rows, 70, kLongLoads), 3 * at(rows, 10, kLongLoads));
  EXPECT_GT(at(rows, 110, kLongStores), at(rows, 70, kLongStores));
  // Window 39 was the optimizer's; it comes every fourth.
  EXPECT_FLOAT_EQ(at(rows, 130, kRecency), 1);
  EXPECT_NEAR(at(rows, 130, kDue), 0.25, 0.1);
  EXPECT_LT(at(rows, 10, kRecency), 0.05F);
}

TEST(Features, WhatIsNotThereIsZero) {
  const World world = training_job(1);
  Environment environment(world, {});
  ASSERT_EQ(environment.view().objects[130].bytes, 0U);  // first used later
  FeatureTracker seen;
  seen.update(environment.view());
  for (std::size_t f = 0; f < kFeatures; ++f) {
    EXPECT_EQ(seen.features()[130 * kFeatures + f], 0.0F);
  }
}

// A step's tensor is born where that of the last step died, and is as hot; in
// the window of its death it was accessed still.
TEST(Features, WhatComesBackIsKnown) {
  std::vector<ObjectView> objects(2);
  for (ObjectId i : {0, 1}) {
    objects[i] = {.id = i, .bytes = 1 << 20};
  }
  const std::vector<TierView> tiers{{1 << 30, 0, 80, 80, 64e9, 64e9},
                                    {1 << 30, 0, 300, 300, 16e9, 8e9}};
  FeatureTracker seen;
  const auto window = [&](Bytes bytes, double loads) {
    objects[0].bytes = bytes;
    objects[0].loads = loads;
    objects[1].loads = 10;
    View view;
    view.window_ns = 1'000'000;
    view.objects = objects;
    view.tiers = tiers;
    seen.update(view);
    return seen.history(0);
  };
  for (int step = 0; step < 3; ++step) {
    window(1 << 20, 100);
    window(0, 100);  // dies
    window(0, 0);
  }
  const auto back = window(1 << 20, 0);
  EXPECT_EQ(back.age, 7);
  EXPECT_GT(back.long_loads, 30);
  EXPECT_EQ(back.since, 2);
  EXPECT_GT(seen.features()[kLongLoads], 1.0F);
  for (int i = 0; i < 65; ++i) window(0, 0);
  EXPECT_EQ(window(1 << 20, 0).long_loads, 0);  // somebody else by now
}

// Four on either side, of those that are there.
TEST(Features, NeighboursAreThoseWithTheNearestIds) {
  std::vector<ObjectView> objects(12);
  for (ObjectId i = 0; i < objects.size(); ++i) {
    objects[i] = {.id = i, .bytes = 1 << 20, .loads = 10.0 * i};
  }
  objects[3].bytes = 0;
  objects[3].loads = 0;
  const std::vector<TierView> tiers{{1 << 30, 0, 80, 80, 64e9, 64e9},
                                    {1 << 30, 0, 300, 300, 16e9, 8e9}};
  FeatureTracker seen;
  seen.update({0, 1'000'000, 1 << 20, objects, tiers});
  const auto around = [&](std::size_t object) {
    return std::expm1(seen.features()[object * kFeatures + kNeighbours]);
  };
  const double mean = 630.0 / 11;
  EXPECT_NEAR(around(0), (10 + 20 + 40) / 3.0 / mean, 1e-5);
  EXPECT_NEAR(around(6), (20 + 40 + 50 + 70 + 80 + 90 + 100) / 7.0 / mean,
              1e-5);
  EXPECT_NEAR(around(11), (70 + 80 + 90 + 100) / 4.0 / mean, 1e-5);
}

TEST(Features, WaitingIsNoTime) {
  const World world = training_job(1);
  Environment environment(world, {});
  FeatureTracker seen;
  FeatureTracker waited;
  for (int step = 0; step < 20; ++step) {
    const View& view = environment.view();
    std::vector<ObjectView> idle(view.objects.begin(), view.objects.end());
    for (auto& object : idle) object.loads = object.stores = 0;
    View nothing = view;
    nothing.objects = idle;
    for (int i = 0; i < (step == 0 ? 50 : 3); ++i) waited.update(nothing);
    for (const float one : waited.features()) ASSERT_TRUE(std::isfinite(one));
    seen.update(view);
    waited.update(view);
    environment.step({});
  }
  EXPECT_TRUE(std::ranges::equal(seen.features(), waited.features()));
}

TEST(Features, WhatIsNotAccessedFadesToNothing) {
  std::vector<ObjectView> objects(2);
  for (ObjectId i : {0, 1}) objects[i] = {.id = i, .bytes = 1 << 20};
  const std::vector<TierView> tiers{{1 << 30, 0, 80, 80, 64e9, 64e9},
                                    {1 << 30, 0, 300, 300, 16e9, 8e9}};
  FeatureTracker seen;
  for (int window = 0; window < 2'000; ++window) {
    for (auto& one : objects) one.loads = one.stores = 0;
    objects[window == 0 ? 0 : 1].loads = 1e6;
    objects[window == 0 ? 0 : 1].stores = 1e6;
    seen.update({window, 1'000'000, 1 << 20, objects, tiers});
    if (window == 100) EXPECT_GT(seen.history(0).long_loads, 1);
  }
  const auto& faded = seen.history(0);
  EXPECT_EQ(faded.short_loads, 0);
  EXPECT_EQ(faded.short_stores, 0);
  EXPECT_EQ(faded.long_loads, 0);
  EXPECT_EQ(faded.long_stores, 0);
  EXPECT_EQ(faded.since, 1'999);
}

// A network knows nothing of numbers beyond those it was trained on.
TEST(Features, OfALongJobAreNoLargerThanOfAShortOne) {
  const World world = training_job(1).repeated(50);
  Environment environment(world, {});
  FeatureTracker seen;
  double short_job = 0;
  for (std::size_t w = 0; !environment.done(); ++w) {
    seen.update(environment.view());
    double most = 0;
    for (const float value : seen.features()) {
      most = std::max(most, std::abs(static_cast<double>(value)));
    }
    (w < 100 ? short_job : most) = std::max(short_job, most);
    ASSERT_LE(most, short_job) << "window " << w;
    ASSERT_LE(seen.shared(kElapsed), 1);
    ASSERT_NEAR(windows_of(static_cast<float>(seen.shared(kElapsed))),
                static_cast<double>(w + 1), 0.01 * static_cast<double>(w + 1));
    environment.step({});
  }
}

TEST(Features, FiniteWhateverComes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SyntheticTarget target(seed);
    FeatureTracker seen;
    for (int window = 0; window < 10; ++window) {
      seen.update(target.view());
      for (const float value : seen.features()) {
        ASSERT_TRUE(std::isfinite(value)) << "seed " << seed;
        ASSERT_LT(std::abs(value), 20.0F) << "seed " << seed;
      }
      target.step({});
    }
  }
}

// Of many objects, every twentieth of them gone, some accessed.
class ManyObjects : public ::testing::Test {
 protected:
  ManyObjects() : objects(20'000) {
    for (ObjectId i = 0; i < objects.size(); ++i) {
      objects[i] = {.id = i,
                    .bytes = i % 20 == 0 ? Bytes{0} : Bytes{1} << 18,
                    .tier = static_cast<TierId>(i % 2)};
    }
  }
  void window(const std::vector<ObjectId>& accessed) {
    for (auto& one : objects) one.loads = 0;
    for (const ObjectId i : accessed) objects[i].loads = 199;
    seen.update({0, 1'000'000'000, 1 << 28, objects, tiers});
  }
  bool due(ObjectId object) const {
    return std::ranges::binary_search(seen.due(), object);
  }
  float at(ObjectId object, Feature feature) const {
    return seen.features()[object * kFeatures + feature];
  }

  std::vector<ObjectView> objects;
  std::vector<TierView> tiers{{1L << 32, 0, 80, 80, 64e9, 64e9},
                              {1L << 34, 0, 300, 300, 16e9, 8e9}};
  FeatureTracker seen;
};

TEST_F(ManyObjects, HaveTheirRowsWrittenByTurns) {
  window({7});
  EXPECT_EQ(seen.due().size(), 19'000U);  // all that is there is new
  std::vector<int> turns(objects.size());
  for (int w = 0; w < 8; ++w) {
    window({7});
    EXPECT_TRUE(due(7));
    EXPECT_LT(seen.due().size(), 20'000U / 7);
    for (const ObjectId i : seen.due()) ++turns[i];
  }
  for (ObjectId i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(turns[i], objects[i].bytes == 0 ? 0 : i == 7 ? 8 : 1) << i;
  }
}

TEST_F(ManyObjects, WhatChangesHasItsRowAtOnce) {
  window({7, 8, 9});
  for (int w = 0; w < 3; ++w) window({7, 8});
  objects[11].tier = 0;
  objects[13].bytes = 0;
  objects[20].bytes = 4096;
  window({7, 15});
  for (const ObjectId i : {7, 8, 11, 13, 15, 20}) EXPECT_TRUE(due(i)) << i;
  EXPECT_EQ(at(11, kSlowness), 0);
  EXPECT_EQ(at(13, kAge), 0);
  EXPECT_GT(at(20, kAge), 0);
  EXPECT_EQ(at(15, kRecency), 1);
  EXPECT_EQ(at(8, kRecency), 0.5F);
  // Nothing but the row's age tells it from one that is written every time.
  for (int w = 0; w < 8; ++w) window({7});
  EXPECT_LT(at(8, kRecency), 0.5F);
  EXPECT_GT(at(8, kRecency), 0);
}

TEST(Features, HashChangesWithNothingButTheColumns) {
  EXPECT_EQ(feature_hash(), feature_hash());
  EXPECT_STREQ(kFeatureNames[kSparsity], "sparsity");
}

}  // namespace
}  // namespace thermocline
