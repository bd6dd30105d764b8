// Accesses that the emulated machine tells one after the other.
#include <gtest/gtest.h>

#include <vector>

#include "tests/machine/two_tiers.h"

namespace thermocline {
namespace {

struct Sequences : Observer {
  void sample(const SampledAccess&) override {}
  void count(unsigned, Picos, const Counters&) override {}
  void in_sequence(const SampledAccess& one) override { all.push_back(one); }
  void throttle(unsigned, bool, bool, Picos) override {}
  std::vector<SampledAccess> all;
};

class SequencesTest : public ::testing::Test {
 protected:
  // Misses, each on a page of its own.
  void miss(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      address_ += 7 * 4096;
      core_.instructions() += 3;
      core_.miss({address_, 0x40, core_.instructions(), false}, 0);
    }
  }

  TwoTiers machine_;
  Pace pace_{1, 0};
  SamplingPeriods periods_;
  Sequences seen_;
  Core core_{0, machine_.core, machine_.all(), pace_, periods_, &seen_};
  std::uint64_t address_ = 1 << 20;
};

TEST_F(SequencesTest, NoneUnlessTheyAreAskedFor) {
  miss(20'000);
  periods_.round = 1;
  miss(20'000);
  EXPECT_TRUE(seen_.all.empty());
}

TEST_F(SequencesTest, TheyHaveEveryMissForAWhile) {
  constexpr unsigned kLength = SamplingPeriods::kSequence;
  periods_.sequences = 1000;
  periods_.round = 1;
  miss(20'000);
  ASSERT_GE(seen_.all.size(), 10 * kLength);
  for (std::size_t i = 0; i < seen_.all.size(); ++i) {
    const SampledAccess& one = seen_.all[i];
    if (i % kLength == 0) {
      EXPECT_GE(one.period, 500u);  // begins one
      EXPECT_LE(one.period, 1500u);
      continue;
    }
    EXPECT_EQ(one.period, 1u);
    const Access& before = seen_.all[i - 1].access;
    EXPECT_EQ(one.access.instruction, before.instruction + 3);
    EXPECT_EQ(one.access.address, before.address + 7 * 4096);
  }
  EXPECT_NEAR(static_cast<double>(seen_.all.size()) / kLength,
              20'000.0 / (1000 + kLength), 4);
}

// What a prefetch was in time for is there, and said to be.
TEST_F(SequencesTest, LinesThatWereFetchedAheadAreInThem) {
  periods_.sequences = 100;
  periods_.round = 1;
  for (unsigned i = 0; i < 20'000; ++i) {
    address_ += 64;
    core_.instructions() += 1000;
    core_.miss({address_, 0x40, core_.instructions(), false}, 0);
  }
  std::size_t hits = 0;
  for (const SampledAccess& one : seen_.all) hits += one.hit ? 1 : 0;
  EXPECT_GT(hits, seen_.all.size() * 9 / 10);
  EXPECT_LT(hits, seen_.all.size());
}

// The first store to a line that a load of the sequence brought, and no other.
TEST_F(SequencesTest, TheyTellWhichLinesAreWritten) {
  constexpr unsigned kLength = SamplingPeriods::kSequence;
  periods_.sequences = 1000;
  periods_.round = 1;
  const auto hit = [this](std::uint64_t address) {
    core_.instructions() += 1;
    ASSERT_TRUE(core_.hit(address, true));
    if (core_.counts_store_hit()) {
      core_.hit_store({address, 0x44, core_.instructions(), true});
    }
  };
  for (unsigned i = 0; i < 5'000; ++i) {
    miss(1);
    if (i % 4 != 0) continue;
    hit(address_ + 8);
    hit(address_ + 16);
  }
  std::size_t misses = 0, writes = 0;
  for (const SampledAccess& one : seen_.all) {
    (one.writes ? writes : misses) += 1;
    if (!one.writes) continue;
    EXPECT_TRUE(one.access.store);
    EXPECT_EQ(one.access.address % 64, 8u);
    EXPECT_EQ(one.period, 1u);
  }
  ASSERT_GE(misses, 2 * kLength);
  // What its last miss brought may be written when it has ended.
  EXPECT_NEAR(static_cast<double>(writes), static_cast<double>(misses) / 4,
              static_cast<double>(misses) / kLength + 1);
}

}  // namespace
}  // namespace thermocline
