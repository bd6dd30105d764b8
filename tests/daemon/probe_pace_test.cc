// Time shared out among figures, by a clock of the test's own.
#include "daemon/probe_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <ctime>

#include "daemon/probe_passes.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Paced : public testing::Test {
 protected:
  ProbePace pace(double limit_s) {
    return {stop_, limit_s,
            [this](double share, const std::string& now) {
              shares_.push_back(share);
              names_.push_back(now);
            },
            [this] { return now_; }};
  }
  std::atomic<bool> stop_ = false;
  double now_ = 100;
  std::vector<double> shares_;
  std::vector<std::string> names_;
};

TEST_F(Paced, EachGetsAnEqualShareAndWhatOthersLeave) {
  ProbePace time = pace(100);
  time.plan(10);
  time.enter("node 0");
  time.begin("taking memory", 4);
  EXPECT_DOUBLE_EQ(time.left_s(), 40);
  now_ += 10;  // leaves 30 to the six others
  EXPECT_DOUBLE_EQ(time.left_s(), 30);
  time.begin("read latency");
  EXPECT_DOUBLE_EQ(time.left_s(), 15);
  now_ += 65;  // much too long: 25 are left
  EXPECT_LT(time.left_s(), 0);
  time.begin("fill");
  EXPECT_DOUBLE_EQ(time.left_s(), 5);
  EXPECT_THAT(names_, ElementsAre("node 0: taking memory",
                                  "node 0: read latency", "node 0: fill"));
  EXPECT_THAT(shares_, ElementsAre(0, 0.4, 0.5));
  EXPECT_EQ(time.begun(), 6);
  EXPECT_DOUBLE_EQ(time.took_s(), 75);
}

TEST_F(Paced, RepeatsAsOftenAsItsShareAllows) {
  ProbePace time = pace(10);
  time.plan(1);
  time.begin("fill");
  EXPECT_DOUBLE_EQ(time.repeat_s(0.5, 4), 0.5);  // as wanted
  EXPECT_DOUBLE_EQ(time.repeat_s(5, 4, 1), 2);   // five of two seconds
  EXPECT_TRUE(time.again(0, 5, 0));
  EXPECT_TRUE(time.again(4, 5, 2));
  EXPECT_FALSE(time.again(5, 5, 2));
  EXPECT_FALSE(time.again(1, 5, 11));
  now_ += 11;
  EXPECT_TRUE(time.late());
  EXPECT_TRUE(time.again(0, 5, 0));  // once, always
  EXPECT_FALSE(time.again(1, 5, 0.1));
  EXPECT_GT(time.repeat_s(0.5, 4), 0);
}

TEST_F(Paced, ToldToStopItSaysSo) {
  const ProbePace time = pace(10);
  EXPECT_TRUE(time.go_on());
  stop_ = true;
  const auto stopped = time.go_on();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Error::Code::kInterrupted);
  EXPECT_THAT(stopped.error().message, HasSubstr("nothing was written"));
}

// Work of which the test says how long it takes: 1 second a 64 MiB. What
// run_together() measures is real time, and next to nothing; so a thread that
// waits stands for slow memory.
class Passing : public testing::Test {
 protected:
  Result<Passed> measure(double limit_s, Bytes part, int repeats) {
    ProbePace time(stop_, limit_s);
    time.plan(1);
    time.begin("fill");
    const std::vector<int> cpus{::sched_getcpu()};
    const auto passed = measure_passes(
        {cpus, part, 0.004, repeats}, at_, time, [&](const Pass& pass) {
          EXPECT_EQ(pass.at % kPassGrain, 0u);
          EXPECT_EQ(pass.size % kPassGrain, 0u);
          EXPECT_LE(pass.at + pass.size, part);
          EXPECT_EQ(pass.at, next_);
          next_ = (pass.at + pass.size) % part;
          gone_ += pass.size;
          const auto nanos = static_cast<long>(pass.size);  // 1 GB/s at most
          const timespec wait{nanos / 1'000'000'000, nanos % 1'000'000'000};
          ::nanosleep(&wait, nullptr);
          return pass.size / 2;
        });
    EXPECT_EQ(next_, at_);
    return passed;
  }
  std::atomic<bool> stop_ = false;
  Bytes at_ = 0;
  Bytes next_ = 0;
  Bytes gone_ = 0;
};

TEST_F(Passing, WithTimeARepeatGoesThroughAllAndBeginsWhereTheLastEnded) {
  const Bytes part = Bytes{8} << 20;
  const auto passed = measure(60, part, 3);
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->bytes_per_s.repeats, 3);
  EXPECT_EQ(gone_, 3 * part + (Bytes{1} << 20));  // which told how fast it is
  // Wanted are half of the bytes, of 1 GB/s at most.
  EXPECT_LE(passed->bytes_per_s.median, 0.5e9);
  EXPECT_GT(passed->bytes_per_s.median, 0);
}

TEST_F(Passing, WithoutTimeItGoesThroughAPartOfItOnce) {
  const Bytes part = Bytes{1} << 30;  // a second
  const auto passed = measure(0, part, 5);
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_EQ(passed->bytes_per_s.repeats, 1);
  EXPECT_LE(gone_, part / 64);
  EXPECT_GT(passed->bytes_per_s.median, 0);
}

TEST_F(Passing, ToldToStopItReportsNothing) {
  stop_ = true;
  const auto passed = measure_passes(
      {std::vector<int>{::sched_getcpu()}, kPassGrain, 0.01, 2}, at_,
      ProbePace(stop_, 1), [](const Pass& pass) { return pass.size; });
  ASSERT_FALSE(passed);
  EXPECT_EQ(passed.error().code, Error::Code::kInterrupted);
}

}  // namespace
}  // namespace thermocline
