#include "tracer/sampling_budget.h"

#include <gtest/gtest.h>

#include <set>

#include "tracer/sampling_period.h"

namespace thermocline {
namespace {

constexpr Nanos kInterval = 250'000'000;

// A job that makes `rate` samples a second at scale 1.
class Job {
 public:
  explicit Job(SamplingBudget::Options options) : budget_(options, 0) {}
  bool interval(double rate) {
    const double samples = rate / budget_.scale() * kInterval * 1e-9;
    budget_.spend(static_cast<std::uint64_t>(samples), 0);
    now_ += kInterval;
    return budget_.settle(now_);
  }
  SamplingBudget& budget() { return budget_; }
  Nanos now() const { return now_; }

 private:
  Nanos now_ = 0;
  SamplingBudget budget_;
};

TEST(SamplingBudget, ComesBelowTheBudgetAtOnceAndStays) {
  Job job({});
  // 100,000 samples of 2 us each: 20 % of a core, twenty times too much.
  EXPECT_TRUE(job.interval(100'000));
  EXPECT_DOUBLE_EQ(job.budget().used(), 0.2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(job.interval(100'000)) << i;
    EXPECT_LE(job.budget().used(), 0.01);
    EXPECT_GT(job.budget().used(), 0.007);
  }
}

TEST(SamplingBudget, DearerInterruptsMakeForFewerSamples) {
  Job cheap({});
  Job dear({});
  dear.budget().sample_costs(8'000);
  cheap.interval(100'000);
  dear.interval(100'000);
  EXPECT_DOUBLE_EQ(dear.budget().used(), 0.8);
  EXPECT_DOUBLE_EQ(dear.budget().scale(), 4 * cheap.budget().scale());
}

TEST(SamplingBudget, ReturnsWhenTheJobIsQuietButNotForOnePause) {
  Job job({});
  job.interval(100'000);
  const double loud = job.budget().scale();
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(job.interval(10));
  EXPECT_FALSE(job.interval(100'000)) << "a pause, no more";
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(job.interval(10));
  EXPECT_TRUE(job.interval(10));
  EXPECT_DOUBLE_EQ(job.budget().scale(), loud / 2);
  for (int i = 0; i < 200; ++i) job.interval(10);
  EXPECT_DOUBLE_EQ(job.budget().scale(), 1);
}

TEST(SamplingBudget, MayBeginBelowTheFirstPeriod) {
  SamplingBudget::Options options;
  options.least_scale = 1.0 / 16;
  Job job(options);
  for (int i = 0; i < 200; ++i) job.interval(10);
  EXPECT_DOUBLE_EQ(job.budget().scale(), 1.0 / 16);
}

TEST(SamplingBudget, LossesLengthenThePeriod) {
  Job job({});
  job.budget().fell_short();
  EXPECT_TRUE(job.interval(10));
  EXPECT_DOUBLE_EQ(job.budget().scale(), 2);
  EXPECT_FALSE(job.interval(10)) << "only once for each";
}

TEST(SamplingBudget, OurOwnTimeCounts) {
  SamplingBudget budget({}, 0);
  budget.spend(0, kInterval / 10);
  EXPECT_TRUE(budget.settle(kInterval));
  EXPECT_DOUBLE_EQ(budget.used(), 0.1);
  EXPECT_GT(budget.scale(), 10);
}

TEST(SamplingBudget, AChangeMustFirstEarnItsOwnCost) {
  Job job({});
  ASSERT_TRUE(job.interval(100'000));
  // 20 ms of system calls are 2 s of budget.
  job.budget().paid_for_change(20'000'000, job.now());
  job.budget().fell_short();
  int waited = 0;
  while (!job.interval(10)) ++waited;
  EXPECT_EQ(waited, 7);
}

TEST(SamplingBudget, AnIntervalIsNotCutShort) {
  SamplingBudget budget({}, 0);
  budget.spend(1'000'000, 0);
  EXPECT_FALSE(budget.settle(kInterval - 1));
  EXPECT_TRUE(budget.settle(kInterval));
}

TEST(SamplingBudget, HugeCountsStayFinite) {
  SamplingBudget budget({}, 0);
  Nanos now = 0;
  for (int i = 0; i < 20; ++i) {
    budget.spend(~0ull, -1);
    budget.settle(now += kInterval);
  }
  EXPECT_LE(budget.scale(), 1e6);
  EXPECT_GT(budget.scale(), 1);
}

bool is_prime(std::uint64_t n) {
  for (std::uint64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

TEST(SamplingPeriod, ScaledPeriodsArePrimesAndGrow) {
  PerfEvent event;
  event.period = 4001;
  event.least_period = 251;
  EXPECT_EQ(scaled_period(event, 1), 4001u);
  std::uint64_t last = 0;
  for (double scale = 1.0 / 64; scale < 1e7; scale *= 1.3) {
    const auto period = scaled_period(event, scale);
    EXPECT_TRUE(is_prime(period)) << period;
    EXPECT_GE(period, event.least_period);
    EXPECT_GE(period, last);
    EXPECT_LE(period, kLongestPeriod);
    last = period;
  }
  EXPECT_EQ(scaled_period(event, 1e12), kLongestPeriod);
}

TEST(SamplingPeriod, KeepsToTheStepOfItsHardware) {
  PerfEvent event;  // AMD's IBS
  event.period = 16 * 8209;
  event.period_step = 16;
  for (const double scale : {0.01, 0.7, 2.0, 33.3, 1e9}) {
    const auto period = scaled_period(event, scale);
    EXPECT_EQ(period % 16, 0u);
    EXPECT_TRUE(is_prime(period / 16)) << period;
  }
}

TEST(SamplingPeriod, EveryEventIsAPeriodToo) {
  PerfEvent event;  // page faults, each of them
  EXPECT_EQ(scaled_period(event, 1), 1u);
  EXPECT_EQ(scaled_period(event, 1.25), 1u);
  EXPECT_EQ(scaled_period(event, 2), 2u);
  EXPECT_EQ(scaled_period(event, 90), 97u);
}

TEST(SamplingPeriod, PrimesAreWhatTheyShouldBe) {
  const std::set<std::uint64_t> primes{2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
  for (std::uint64_t n = 0; n <= 29; ++n) {
    EXPECT_EQ(next_prime(n), *primes.lower_bound(n)) << n;
  }
  EXPECT_EQ(next_prime(4000), 4001u);
  EXPECT_EQ(next_prime(kLongestPeriod), kLongestPeriod);
}

}  // namespace
}  // namespace thermocline
