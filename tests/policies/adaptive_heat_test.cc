// Made-up jobs in which one characteristic tells what comes next.
#include "policies/adaptive_heat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/policies/views.h"

namespace thermocline {
namespace {

constexpr double kUse = 10'000;  // accesses

class Job : public HandView {
 public:
  Job() : HandView({1000, 1000}) {}
  void window() {
    const View seen = view();
    heat.see(seen);
    for (auto& object : objects) object.loads = object.stores = 0;
  }
  double weight(Trait trait) const {
    return heat.weights()[static_cast<std::size_t>(trait)];
  }
  double density(ObjectId object) const { return heat.density()[object]; }

  // Windows in which the same are used each time.
  void steady(int windows) {
    for (int w = 0; w < windows; ++w) {
      for (auto& one : objects) one.loads = one.id % 8 == 0 ? kUse : 0;
      window();
    }
  }
  // Windows in which four groups take turns; returns whose turn is next.
  int by_turns(int windows) {
    for (int w = 0; w < windows; ++w) {
      for (auto& one : objects) {
        one.loads = static_cast<int>(one.id % 4) == turn ? kUse : 0;
      }
      window();
      turn = (turn + 1) % 4;
    }
    return turn;
  }

  AdaptiveHeat heat;
  int turn = 0;
};

Job job_of(int objects) {
  Job out;
  for (int i = 0; i < objects; ++i) out.add(1);
  return out;
}

TEST(AdaptiveHeat, BeginsWithReadsAndWritesAlone) {
  const AdaptiveHeat heat;
  EXPECT_EQ(heat.weights(), (Traits{1, 1, 0, 0, 0}));
}

TEST(AdaptiveHeat, WhatIsUsedInEveryWindowIsForetoldExactly) {
  Job job = job_of(64);
  job.steady(40);
  const double expected = kUse * job.heat.log().load_ns() / kBlock;
  EXPECT_NEAR(job.density(0), expected, 0.05 * expected);
  EXPECT_NEAR(job.density(1), 0, 0.05 * expected);
}

TEST(AdaptiveHeat, StoresCountForWhatTheyLose) {
  Job job = job_of(64);
  for (int w = 0; w < 40; ++w) {
    job.objects[3].loads = kUse;
    job.objects[4].stores = kUse;
    job.window();
  }
  EXPECT_GT(job.density(4), 2 * job.density(3));
}

TEST(AdaptiveHeat, InAJobOfTurnsReuseDistanceTellsWhoIsNext) {
  Job job = job_of(64);
  const auto next = static_cast<ObjectId>(job.by_turns(60));
  EXPECT_GT(job.weight(Trait::kReuse), 0.5);
  EXPECT_GT(job.weight(Trait::kReuse), job.weight(Trait::kReads));
  // Accesses alone would say: who was used last.
  for (ObjectId other = 0; other < 4; ++other) {
    if (other == next) continue;
    EXPECT_GT(job.density(next), 4 * job.density(other)) << other;
  }
}

TEST(AdaptiveHeat, RecoversWhenTheJobChanges) {
  Job job = job_of(64);
  job.steady(60);
  job.by_turns(60);
  const auto next = static_cast<ObjectId>(job.by_turns(1));
  EXPECT_GT(job.density(next), 4 * job.density((next + 3) % 4));
  EXPECT_GT(job.weight(Trait::kReuse), job.weight(Trait::kReads));
  job.steady(60);
  const double expected = kUse * job.heat.log().load_ns() / kBlock;
  EXPECT_NEAR(job.density(0), expected, 0.1 * expected);
  EXPECT_LT(job.density(next == 0 ? 1 : next), 0.1 * expected);
}

TEST(AdaptiveHeat, OfTheSmallOnesWhichAreUsedAtRandomSizeTells) {
  std::mt19937 random(5);
  Job job;
  for (int i = 0; i < 200; ++i) job.add(1, 0, 0, i % 2 == 0 ? 4096 : kBlock);
  for (int w = 0; w < 80; ++w) {
    for (auto& one : job.objects) {
      const bool used = one.bytes == 4096 && random() % 4 == 0;
      one.loads = used ? kUse : 0;
    }
    job.window();
  }
  EXPECT_GT(job.weight(Trait::kSize), job.weight(Trait::kReads));
  // Of newcomers nothing else is known.
  const ObjectId small = job.add(1, 0, 0, 4096);
  const ObjectId large = job.add(1, 0, 0, kBlock);
  job.window();
  EXPECT_GT(job.density(small), 4 * job.density(large));
}

TEST(AdaptiveHeat, WhereOnlyTheYoungAreUsedLifetimeTells) {
  Job job;
  for (int w = 0; w < 80; ++w) {
    // Each is used when it is born and in the window after, and then no more.
    for (int i = 0; i < 16; ++i) job.add(1);
    for (auto& one : job.objects) {
      const auto age = w - static_cast<int>(one.id) / 16;
      one.loads = age < 2 ? kUse : 0;
    }
    job.window();
  }
  const auto born = static_cast<ObjectId>(job.objects.size() - 1);
  EXPECT_GT(job.weight(Trait::kLife) + job.weight(Trait::kReuse), 0.3);
  EXPECT_GT(job.density(born), 4 * job.density(born - 16));
}

TEST(AdaptiveHeat, AJobThatDoesNothingHasNoHeat) {
  Job job = job_of(20);
  for (int w = 0; w < 20; ++w) job.window();
  for (ObjectId i = 0; i < 20; ++i) EXPECT_EQ(job.density(i), 0);
}

TEST(AdaptiveHeat, WeightsStayBoundedAndAreFoundAgain) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Job one;
    Job two;
    std::mt19937 random(seed);
    for (int w = 0; w < 40; ++w) {
      if (random() % 2 == 0) {
        const Bytes bytes = random() % 3 == 0 ? 0 : random() % 100'000;
        one.add(1, 0, 0, bytes);
        two.add(1, 0, 0, bytes);
      }
      for (std::size_t i = 0; i < one.objects.size(); ++i) {
        const bool used = one.objects[i].bytes > 0 && random() % 3 == 0;
        const double loads = used ? std::exp(random() % 40) : 0;
        one.objects[i].loads = two.objects[i].loads = loads;
      }
      one.window();
      two.window();
      ASSERT_EQ(one.heat.weights(), two.heat.weights());
      for (const double weight : one.heat.weights()) {
        ASSERT_GE(weight, 0);
        ASSERT_LE(weight, 1);
      }
      for (const double density : one.heat.density()) {
        ASSERT_TRUE(std::isfinite(density) && density >= 0) << density;
      }
    }
  }
}

}  // namespace
}  // namespace thermocline
