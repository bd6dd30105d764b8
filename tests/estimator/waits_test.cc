#include "estimator/waits.h"

#include <gtest/gtest.h>

#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

// Two phases, a window each: object 0, then 0 and 1.
struct Pair {
  SyntheticJob job;
  Trace slow;
  Trace fast;

  Pair() {
    job.objects = 2;
    job.period = 10;
    job.marks = true;
    job.phases = {{1000, {{0, 40, 0}}}, {1000, {{0, 20, 0}, {1, 20, 20}}}};
    slow = job.run("all_slow", {4'000'000, 4'000'000});
    fast = job.run("all_fast", {2'000'000, 2'000'000});
  }
  void wait(Trace& trace, ObjectId object, std::uint16_t cycles) const {
    for (Sample& sample : trace.samples) {
      if (sample.address >= SyntheticJob::address(object) &&
          sample.address < SyntheticJob::address(object + 1)) {
        sample.retire_latency = cycles;
      }
    }
  }
  Differential made() const {
    auto out = Differential::from_pair(slow, fast,
                                       {.windows = 2, .region_bytes = kRegion});
    EXPECT_TRUE(out.has_value());
    return *std::move(out);
  }
};

TEST(Waits, AreSumsByWindowAndObject) {
  Pair pair;
  pair.wait(pair.slow, 0, 300);
  pair.wait(pair.slow, 1, 7);
  pair.wait(pair.fast, 0, 100);
  const Differential made = pair.made();
  double slow[2] = {};
  double fast[2] = {};
  std::size_t of_second = 0;
  for (std::size_t w = 0; w < made.windows(); ++w) {
    for (const ObjectWait& one : made.waits(w)) {
      slow[one.object] += one.slow;
      fast[one.object] += one.fast;
      if (one.object == 1) of_second += w;
    }
  }
  double samples[2] = {};
  for (const Sample& sample : pair.slow.samples) {
    samples[sample.address >= SyntheticJob::address(1) ? 1 : 0] += 1;
  }
  EXPECT_DOUBLE_EQ(slow[0], samples[0] * 10 * 300);
  EXPECT_DOUBLE_EQ(slow[1], samples[1] * 10 * 7);
  EXPECT_GT(fast[0], 0);
  EXPECT_EQ(fast[1], 0);
  EXPECT_EQ(of_second, 1U);  // in the second window alone
}

TEST(Waits, NoneWhereARunDoesNotTell) {
  Pair pair;
  pair.wait(pair.slow, 0, 300);
  const Differential made = pair.made();
  for (std::size_t w = 0; w < made.windows(); ++w) {
    EXPECT_TRUE(made.waits(w).empty());
  }
}

}  // namespace
}  // namespace thermocline
