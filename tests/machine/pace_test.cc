// Two cores, each on a host thread of its own, as the emulator runs vCPUs.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/machine/two_tiers.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;
constexpr unsigned kLines = 60'000;

class PaceTest : public ::testing::Test {
 protected:
  // One core reads lines in order; `slow` makes its host thread dawdle.
  void stream(unsigned cpu, bool slow) {
    Core core(cpu, machine_.core, machine_.all(), pace_, periods_, nullptr);
    pace_.enter(cpu, 0);  // both are awake before either is ahead
    ++ready_;
    while (ready_ < 2) std::this_thread::yield();
    for (std::uint64_t i = 0; i < kLines; ++i) {
      const std::uint64_t address = (cpu + 1ull) << 40 | i << kLineShift;
      core.instructions() += 8;
      if (!core.hit(address, false)) {
        core.miss({address, 0, core.instructions(), false}, 1);
      }
      if (slow && i % 64 == 0) std::this_thread::yield();
    }
    core.rest();
    taken_[cpu] = core.now();
  }
  Picos alone() {
    Pace pace(1, 0);
    TwoTiers machine;
    Core core(0, machine.core, machine.all(), pace, periods_, nullptr);
    for (std::uint64_t i = 0; i < kLines; ++i) {
      core.instructions() += 8;
      core.miss({i << kLineShift, 0, core.instructions(), false}, 1);
    }
    core.rest();
    return core.now();
  }

  TwoTiers machine_;
  Pace pace_{2, kForEver};
  SamplingPeriods periods_;
  std::atomic<unsigned> ready_{0};
  Picos taken_[2] = {};
};

TEST_F(PaceTest, TwoThatShareALinkGetHalfOfItEach) {
  std::thread other([this] { stream(1, true); });
  stream(0, false);
  other.join();
  const Picos both = 2 * alone();
  for (const Picos taken : taken_) {
    EXPECT_GT(taken, both * 95 / 100);
    EXPECT_LT(taken, both * 105 / 100);
  }
}

TEST_F(PaceTest, NoneWaitsForOneThatRestsOrIsFarBehind) {
  EXPECT_EQ(pace_.enter(0, 5), 5u);
  pace_.rest(0);
  EXPECT_EQ(pace_.enter(1, 1000 * Pace::kLead), 1000 * Pace::kLead);
  pace_.rest(1);
  // Core 0 comes back: it is told where core 1 is.
  EXPECT_EQ(pace_.enter(0, 10), 1000 * Pace::kLead);
  // Behind by less, it stays where it is.
  const Picos little = 1000 * Pace::kLead - Pace::kLead / 2;
  EXPECT_EQ(pace_.enter(0, little), little);
}

TEST_F(PaceTest, PatienceEnds) {
  Pace pace(2, 1'000'000);
  pace.enter(0, 5);  // and is not heard of again
  EXPECT_EQ(pace.enter(1, 3 * Pace::kLead), 3 * Pace::kLead);
  EXPECT_GT(pace.take_waited(1), 0u);
  EXPECT_EQ(pace.take_waited(1), 0u);
}

TEST_F(PaceTest, WhoIsAheadWaitsUntilTheOtherHasCaughtUp) {
  pace_.enter(0, 0);
  std::atomic<bool> passed{false};
  std::thread ahead([&] {
    pace_.enter(1, 3 * Pace::kLead);
    passed = true;
  });
  for (Picos time = 0; time < 2 * Pace::kLead; time += Pace::kLead / 8) {
    EXPECT_EQ(pace_.enter(0, time), time);
    EXPECT_FALSE(passed);
    std::this_thread::yield();
  }
  pace_.enter(0, 2 * Pace::kLead);
  ahead.join();
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace thermocline
