// The suite of operations within its time, by a clock that only being asked
// moves: no other load of the machine has a say.
#include "daemon/probe_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "estimator/memory_operations.h"

namespace thermocline {
namespace {

using testing::ElementsAre;

TEST(ProbeThreads, ArePowersOfTwoUpToAll) {
  EXPECT_THAT(thread_counts(1), ElementsAre(1));
  EXPECT_THAT(thread_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(thread_counts(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(thread_counts(16), ElementsAre(1, 2, 4, 8, 16));
}

class OperationsInTime : public ::testing::Test {
 protected:
  // A second passes with each look at the clock.
  void measure(double limit_s) {
    ProbePace pace(stop_, limit_s, {}, [this] { return now_ += 1; });
    pace.plan(weight_of_operations(plan_));
    alignas(4096) static float memory[1 << 18];
    const auto ok = measure_operations(memory, plan_, {}, pace, found_);
    ASSERT_TRUE(ok) << ok.error().message;
    EXPECT_EQ(pace.begun(), pace.planned());
    EXPECT_EQ(found_.figures.size() + static_cast<std::size_t>(found_.left_out),
              static_cast<std::size_t>(pace.planned()));
  }
  const std::atomic<bool> stop_ = false;
  const NodePlan plan_{.cpus = {::sched_getcpu()}, .bytes = 1 << 20};
  double now_ = 0;
  PlaceFigures found_;
};

TEST_F(OperationsInTime, WithTimeAllIsMeasuredAsOftenAsWanted) {
  measure(1e6);
  EXPECT_EQ(found_.left_out, 0);
  for (const auto& one : found_.figures) {
    EXPECT_EQ(one.bytes_per_s.repeats, 5) << one.title;
  }
}

// What has begun ends, with one repeat; what has not is left out, at two looks
// at the clock each: to share out the time, and to see that it is over.
TEST_F(OperationsInTime, AtTheLimitTheRestIsLeftOut) {
  constexpr double kLimit_s = 100, kOneFigure_s = 30, kLooks = 2;
  measure(kLimit_s);
  EXPECT_GT(found_.left_out, 0);
  EXPECT_FALSE(found_.figures.empty());
  EXPECT_LE(now_, kLimit_s + kOneFigure_s + kLooks * found_.left_out);
}

}  // namespace
}  // namespace thermocline
