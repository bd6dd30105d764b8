#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "policies/hot_change.h"
#include "tests/policies/views.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Windows of half a second, as the authors'.
class Job : public HandView {
 public:
  explicit Job(const std::vector<Bytes>& blocks,
               const nlohmann::json& options = {{"fill", 1.0}})
      : HandView(blocks) {
    auto made = Registry<Policy>::make("policy", "recency_frequency", options);
    EXPECT_TRUE(made) << made.error().message;
    policy = *std::move(made);
  }
  std::vector<Move> decide() {
    View seen = view();
    seen.window_ns = 500'000'000;
    seen.move_ns_per_byte = measured;
    return policy->decide(seen);
  }
  // The window, from 1 on, in which something first moves; it is carried out.
  int first_move(int most = 60) {
    for (int w = 1; w <= most; ++w) {
      const auto moves = decide();
      apply(moves);
      if (!moves.empty()) return w;
    }
    return 0;
  }
  std::unique_ptr<Policy> policy;
  double measured = 0;
};

constexpr double kMuch = 1e7;  // accesses: pays for its move at once

TEST(RecencyFrequency, OneIsPromotedInItsSecondRoundAmongTheHottest) {
  Job job({4, 100});
  job.add(1, kMuch);
  EXPECT_THAT(job.decide(), IsEmpty());
  EXPECT_THAT(job.decide(), ElementsAre(Move{0, 1, 0}));
  EXPECT_THAT(job.policy->explain(0),
              HasSubstr("among the hottest for 2 windows"));
}

TEST(RecencyFrequency, AFallingScoreIsNoReasonToPromote) {
  Job job({4, 100});
  job.add(1, kMuch);
  job.decide();
  for (int w = 0; w < 5; ++w) {
    job.objects[0].loads /= 4;
    EXPECT_THAT(job.decide(), IsEmpty());
  }
}

TEST(RecencyFrequency, TheHottestByBytesAreChosen) {
  Job job({2, 100});
  for (const double part : {1, 4, 2, 3}) job.add(1, part * kMuch);
  job.decide();
  EXPECT_THAT(job.decide(), ElementsAre(Move{1, 1, 0}, Move{3, 1, 0}));
}

TEST(RecencyFrequency, AMoveMustGainMoreThanItCosts) {
  // A load loses 1 ns here; a block costs at least 64 KiB / 2 MiB * 0.5 ms =
  // 15.6 us, 1.5 times that with a swap's other half. The gain of each window
  // adds up with the windows that an object has been hot.
  Job cheap({4, 100});
  cheap.add(1, 40'000);
  const int soon = cheap.first_move();
  Job dear({4, 100});
  dear.add(1, 40'000);
  dear.measured = 10;  // ns per byte: 655 us a block
  const int late = dear.first_move();
  EXPECT_EQ(soon, 2);
  EXPECT_GT(late, 2 * soon);
  Job never({4, 100});
  never.add(1, 40);
  EXPECT_EQ(never.first_move(30), 0);
}

TEST(RecencyFrequency, WhatLeavesIsColderByBothAverages) {
  Job job({1, 100});
  job.add(0, kMuch);
  job.add(1, 0);
  for (int w = 0; w < 60; ++w) job.decide();
  // The fast one pauses, the slow one bursts: the long average says no yet.
  job.objects[0].loads = 0;
  job.objects[1].loads = kMuch;
  EXPECT_THAT(job.decide(), IsEmpty());
  const int then = job.first_move();
  EXPECT_GT(then, 2);
  EXPECT_LT(then, 20);
  EXPECT_EQ(job.objects[0].tier, 1);
  EXPECT_EQ(job.objects[1].tier, 0);
}

TEST(RecencyFrequency, ANewHotSetIsFoundWithinFourLongAverages) {
  Job job({10, 100});
  for (int i = 0; i < 10; ++i) job.add(0, kMuch / 10);
  for (int i = 0; i < 10; ++i) job.add(1, 0);
  for (int w = 0; w < 60; ++w) job.apply(job.decide());
  for (auto& object : job.objects) {
    object.loads = object.id < 10 ? 0 : kMuch / 10;
  }
  int windows = 0;
  const auto fast = [&] {
    return std::count_if(job.objects.begin() + 10, job.objects.end(),
                         [](const ObjectView& one) { return one.tier == 0; });
  };
  for (; windows < 200 && fast() < 10; ++windows) job.apply(job.decide());
  EXPECT_LE(windows, 4 * 20);
  EXPECT_EQ(fast(), 10);
}

// The beginning of a job is a change as well.
TEST(RecencyFrequency, SteadyJobsSettle) {
  Job job({5, 100});
  for (int i = 0; i < 20; ++i) job.add(1, kMuch * (1 + i % 7));
  for (int w = 0; w < 150; ++w) job.apply(job.decide());
  EXPECT_THAT(job.decide(), IsEmpty());
  EXPECT_THAT(job.policy->explain(0), Not(HasSubstr("has changed")));
}

TEST(RecencyFrequency, MovesTakeNoMoreThanTheWindow) {
  Job job({50, 100});
  for (int i = 0; i < 40; ++i) job.add(1, 1e12);
  job.measured = 1000;  // 65.5 ms a block, and its share of the average
  for (int w = 0; w < 40; ++w) job.decide();
  // By now the average is near: half a second is for 7 of them, or 8.
  const auto moves = job.decide();
  EXPECT_GE(moves.size(), 7u);
  EXPECT_LE(moves.size(), 8u);
}

TEST(HotChange, SeesAStepOfBandwidthAndForgetsIt) {
  HotChange change({});
  const Nanos second = 1'000'000'000;
  for (int s = 0; s < 100; ++s) change.see(1e9 + (s % 2) * 1e7, second, 0);
  EXPECT_FALSE(change.changed());
  int seconds = 0;
  for (; seconds < 60 && !change.changed(); ++seconds) {
    change.see(5e9, second, 0);
  }
  EXPECT_LE(seconds, 15);
  for (int s = 0; s < 19; ++s) change.see(5e9, second, 0);
  EXPECT_TRUE(change.changed());
  for (int s = 0; s < 200; ++s) change.see(5e9, second, 0);
  EXPECT_FALSE(change.changed());
}

TEST(HotChange, LessSlowBandwidthOrLittleOfItIsNoChange) {
  const Nanos second = 1'000'000'000;
  HotChange falls({});
  for (int s = 0; s < 200; ++s) falls.see(5e9, second, 0);
  for (int s = 0; s < 60; ++s) falls.see(1e9, second, 0);
  EXPECT_FALSE(falls.changed());
  HotChange little({});
  for (int s = 0; s < 60; ++s) little.see(s < 30 ? 1e6 : 9e6, second, 1e8);
  EXPECT_FALSE(little.changed());
}

}  // namespace
}  // namespace thermocline
