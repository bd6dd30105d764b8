// The cost model's promises, one test each; no host time is measured.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "tests/machine/two_tiers.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kFar = 1 << 20;  // no stream leads from one to the next

class CostModel : public ::testing::Test {
 protected:
  CostModel() : cores_{make_core(0), make_core(1)} {}

  std::unique_ptr<Core> make_core(unsigned cpu, Observer* observer = nullptr) {
    return std::make_unique<Core>(cpu, machine_.core, machine_.all(), pace_,
                                  periods_, observer);
  }

  void access(std::uint64_t address, unsigned tier, bool store,
              unsigned cpu = 0) {
    Core& core = *cores_[cpu];
    ++core.instructions();
    const bool hits =
        (store ? core.quick_store(address) : core.quick_load(address)) ||
        core.hit(address, store);
    if (hits) {
      if (store && core.counts_store_hit()) {
        core.hit_store({address, 0, core.instructions(), store});
      }
      return;
    }
    core.miss({address, 0, core.instructions(), store}, tier);
  }
  void load(std::uint64_t address, unsigned tier) {
    access(address, tier, false);
  }
  void store(std::uint64_t address, unsigned tier) {
    access(address, tier, true);
  }
  void compute(std::uint64_t instructions) {
    cores_[0]->instructions() += instructions;
  }

  Picos stalled(unsigned cpu = 0) {
    cores_[cpu]->rest();
    return cores_[cpu]->counters().stalled;
  }
  Picos latency(unsigned tier) { return machine_.tiers[tier].kind.latency; }
  const TierCounters& tier_counters(unsigned tier, unsigned cpu = 0) {
    return cores_[cpu]->counters().tiers[tier];
  }

  std::uint64_t far_address() {
    return (1 + random_() % 10'000'000) * (kFar / 16) +
           random_() % 1024 * kLine;
  }
  // Stall time of `count` loads of lines far apart, each after a load that
  // hits: what a gather through an index looks like.
  Picos gather(unsigned tier, unsigned count) {
    const Picos before = stalled();
    for (unsigned i = 0; i < count; ++i) {
      load(kLine, 0);
      load(far_address(), tier);
    }
    return stalled() - before;
  }
  // The same with nothing in between: each address comes from memory.
  Picos chase(unsigned tier, unsigned count) {
    const Picos before = stalled();
    for (unsigned i = 0; i < count; ++i) load(far_address(), tier);
    return stalled() - before;
  }

  std::mt19937_64 random_{7};
  TwoTiers machine_;
  Pace pace_{2, 0};  // one thread plays both vCPUs: neither waits
  SamplingPeriods periods_;
  std::unique_ptr<Core> cores_[2];
};

TEST_F(CostModel, DependentMissesWaitForEachOther) {
  const auto count = 1000u;
  const double each = static_cast<double>(chase(0, count)) / count;
  const auto expected = static_cast<double>(latency(0));
  EXPECT_NEAR(each, expected, expected * 0.05);
}

TEST_F(CostModel, IndependentMissesOverlapTenfold) {
  const double dependent = static_cast<double>(chase(0, 1000));
  const double independent = static_cast<double>(gather(0, 1000));
  EXPECT_GT(dependent / independent, 8);
  EXPECT_LT(dependent / independent, 13);
}

TEST_F(CostModel, WindowEndsOverlap) {
  for (unsigned i = 1; i <= 100; ++i) {
    load(kLine, 0);
    load(i * kFar, 0);
    compute(machine_.core.window_instructions + 1);
  }
  const Picos hidden =
      machine_.core.window_instructions * machine_.core.per_instruction;
  EXPECT_NEAR(static_cast<double>(stalled()),
              99.0 * static_cast<double>(latency(0) - hidden),
              static_cast<double>(latency(0)));
}

TEST_F(CostModel, ComputationHidesAMissWithinTheWindow) {
  load(kFar, 0);
  compute(machine_.core.window_instructions - 1);
  EXPECT_EQ(stalled(), 0u);
}

TEST_F(CostModel, StreamsHideLatencyButPayBandwidth) {
  const unsigned lines = 6400;
  for (unsigned i = 0; i < lines; ++i) load(kFar + i * kLine, 1);
  const Picos per_line = cores_[0]->now() / lines;
  EXPECT_GT(per_line, machine_.tiers[1].kind.read_occupancy * 99 / 100);
  EXPECT_LT(per_line, machine_.tiers[1].kind.read_occupancy * 5 / 4);
  EXPECT_LT(per_line, latency(1) / 4);
}

TEST_F(CostModel, UnhurriedStreamsCostNothingButOneMissAPage) {
  const unsigned pages = 50;
  const unsigned lines = pages * 64;
  for (unsigned i = 0; i < lines; ++i) {
    load(kFar + i * kLine, 1);
    compute(2000);  // slower than the link
  }
  EXPECT_EQ(tier_counters(1).read_misses, pages + 1);
  EXPECT_EQ(tier_counters(1).covered, lines - pages - 1);
}

TEST_F(CostModel, AGatherDoesNotDisplaceTheStreamOfItsIndices) {
  const unsigned lines = 640;
  for (unsigned i = 0; i < lines * 8; ++i) {
    load(kLine * (1 << 30) + i * 8, 0);  // 8 indices to a line
    load(far_address(), 1);
  }
  EXPECT_LT(tier_counters(0).read_misses, lines / 16);
}

TEST_F(CostModel, StreamsRunBackwardsToo) {
  for (unsigned i = 0; i < 640; ++i) {
    load(100 * kFar - i * kLine, 0);
    compute(2000);
  }
  EXPECT_GT(tier_counters(0).covered, 600u);
}

TEST_F(CostModel, StoresStallOnlyWhenTheBufferIsFull) {
  for (unsigned i = 1; i <= machine_.core.store_buffer; ++i) store(i * kFar, 1);
  EXPECT_EQ(cores_[0]->counters().stalled, 0u);
  store(1000 * kFar, 1);
  EXPECT_GT(cores_[0]->counters().stalled, 0u);
}

TEST_F(CostModel, WritesCostMoreThanReadsWhereTheMemorySaysSo) {
  const unsigned lines = 64000;  // 4 MiB: the cache holds a quarter
  for (unsigned i = 0; i < lines; ++i) load(kFar + i * kLine, 1);
  const Picos read = cores_[0]->now();
  for (unsigned i = 0; i < lines; ++i) {
    access(kFar + i * kLine, 1, true, 1);
  }
  const Picos written = cores_[1]->now();
  const auto& kind = machine_.tiers[1].kind;
  EXPECT_NEAR(static_cast<double>(written) / static_cast<double>(read),
              static_cast<double>(kind.read_occupancy + kind.write_occupancy) /
                  static_cast<double>(kind.read_occupancy),
              1.2);
}

TEST_F(CostModel, SampledLatencyRisesUnderLoad) {
  struct Latencies : Observer {
    void sample(const SampledAccess& one) override {
      sum += one.latency;
      waited += one.waited;
      ++count_of;
    }
    void count(unsigned, Picos, const Counters&) override {}
    void in_sequence(const SampledAccess&) override {}
    void throttle(unsigned, bool, bool, Picos) override {}
    Picos mean() const { return sum / count_of; }
    Picos sum = 0;
    Picos waited = 0;
    std::uint64_t count_of = 0;
  };
  Latencies alone;
  Latencies loaded;
  periods_.loads = 1;
  periods_.round = 1;
  cores_[0] = make_core(0, &alone);
  chase(1, 1000);
  EXPECT_EQ(alone.count_of, 1000u);
  EXPECT_EQ(alone.mean(), latency(1));
  cores_[0] = make_core(0, &loaded);
  gather(1, 1000);  // ten at a time: more than the link carries
  EXPECT_GT(loaded.mean(), latency(1) * 5 / 4);
}

// By what the core waited for each, a chase is told from a gather, whose loads
// take as long.
TEST_F(CostModel, SampledLoadsSayWhatWasWaitedForThem) {
  struct Waits : Observer {
    void sample(const SampledAccess& one) override {
      waited += one.waited;
      ++loads;
    }
    void count(unsigned, Picos, const Counters&) override {}
    void in_sequence(const SampledAccess&) override {}
    void throttle(unsigned, bool, bool, Picos) override {}
    Picos waited = 0;
    unsigned loads = 0;
  };
  Waits gathered, chased;
  periods_.loads = 1;
  periods_.round = 1;
  cores_[0] = make_core(0, &gathered);
  EXPECT_EQ(gather(0, 1000), gathered.waited);
  EXPECT_LT(gathered.waited, 200 * latency(0));
  cores_[0] = make_core(0, &chased);
  EXPECT_EQ(chase(0, 1000), chased.waited);
  EXPECT_GT(chased.waited, 990 * latency(0));
  EXPECT_EQ(chased.loads, 1000u);
  EXPECT_EQ(gathered.loads, 1000u);
}

TEST_F(CostModel, StoresThatHitAreSampledWhenAsked) {
  struct Hits : Observer {
    void sample(const SampledAccess& one) override {
      ASSERT_TRUE(one.access.store);
      (one.hit ? hits : misses).push_back(one.access.address);
    }
    void count(unsigned, Picos, const Counters&) override {}
    void in_sequence(const SampledAccess&) override {}
    void throttle(unsigned, bool, bool, Picos) override {}
    std::vector<std::uint64_t> hits, misses;
  };
  Hits seen;
  cores_[0] = make_core(0, &seen);
  periods_.stores = 1;
  periods_.round = 1;
  for (unsigned i = 0; i < 10'000; ++i) store(kFar + i % 2 * 8, 0);
  EXPECT_TRUE(seen.hits.empty());
  periods_.store_hits = 100;
  for (unsigned i = 0; i < 10'000; ++i) store(kFar + i % 2 * 8, 0);
  EXPECT_NEAR(static_cast<double>(seen.hits.size()), 95, 6);
  EXPECT_EQ(seen.hits.front() / kLine, kFar / kLine);
  EXPECT_EQ(seen.misses.size(), 1u);
}

TEST_F(CostModel, AnEventThatHasHadItsSamplesPausesUntilTheNextTick) {
  struct Throttles : Observer {
    void sample(const SampledAccess& one) override {
      EXPECT_FALSE(paused);
      (one.access.store ? stores : loads) += 1;
    }
    void count(unsigned, Picos, const Counters&) override {}
    void in_sequence(const SampledAccess&) override {}
    void throttle(unsigned, bool of_stores, bool pauses, Picos time) override {
      EXPECT_FALSE(of_stores);
      EXPECT_NE(paused, pauses);
      paused = pauses;
      times.push_back(time);
    }
    unsigned loads = 0;
    unsigned stores = 0;
    bool paused = false;
    std::vector<Picos> times;
  };
  Throttles seen;
  periods_.loads = 2;
  periods_.stores = 50'000;
  periods_.limit = 100;
  periods_.round = 1;
  cores_[0] = make_core(0, &seen);
  chase(1, 40'000);  // 305 ns each: three ticks, and a little
  EXPECT_EQ(seen.loads, 400u);
  ASSERT_EQ(seen.times.size(), 7u);
  for (std::size_t i = 0; i < seen.times.size(); ++i) {
    // It pauses soon after a tick's beginning, and goes on with the next.
    EXPECT_EQ(seen.times[i] / SamplingPeriods::kTick, (i + 1) / 2);
    EXPECT_LT(seen.times[i] % SamplingPeriods::kTick, 210u * latency(1));
  }
}

TEST_F(CostModel, ACoreThatWasEmulatedLateNeitherQueuesNorLosesTime) {
  chase(1, 1000);  // core 0 is far ahead now
  const Picos ahead = cores_[0]->now();
  access(kFar, 1, false, 1);
  EXPECT_LT(cores_[1]->now(), ahead / 100);
  EXPECT_LT(cores_[1]->counters().stalled, latency(1) * 2);
  EXPECT_EQ(cores_[1]->counters().idle, 0u);
}

TEST_F(CostModel, ACoreThatWasEmulatedLateSharesTheLinkFromThenOn) {
  // One core alone, then both in turn: the link is full, so that each gets
  // half of it.
  const unsigned lines = 20000;
  for (unsigned i = 0; i < lines; ++i) access(kFar + i * kLine, 1, false, 0);
  const Picos alone = cores_[0]->now();
  for (unsigned i = lines; i < 2 * lines; ++i) {
    access(kFar + i * kLine, 1, false, 0);
    access(2 * lines * kFar + i * kLine, 1, false, 1);
  }
  const Picos shared = cores_[0]->now() - alone;
  EXPECT_GT(shared, alone * 3 / 2);
  EXPECT_GT(cores_[1]->now(), alone * 3 / 2);
}

TEST_F(CostModel, WakingNeverTurnsTheClockBack) {
  compute(1'000'000);
  const Picos before = cores_[0]->now();
  cores_[0]->wake(before / 2);
  EXPECT_EQ(cores_[0]->now(), before);
  cores_[0]->wake(before * 2);
  EXPECT_EQ(cores_[0]->now(), before * 2);
}

TEST_F(CostModel, DirtyLinesAreWrittenBackOnceAndCleanOnesNot) {
  const unsigned lines = LineCache::kSets * LineCache::kWays;
  for (unsigned i = 0; i < lines; ++i) store(kFar + i * kLine, 1);
  EXPECT_EQ(tier_counters(1).lines_written, 0u);
  for (unsigned i = 0; i < lines; ++i) load(64 * kFar + i * kLine, 0);
  EXPECT_EQ(tier_counters(1).lines_written, lines);
  for (unsigned i = 0; i < lines; ++i) load(128 * kFar + i * kLine, 0);
  EXPECT_EQ(tier_counters(0).lines_written, 0u);
}

TEST_F(CostModel, WritebacksHoldBackWhatTakesTheirPlace) {
  const unsigned lines = LineCache::kSets * LineCache::kWays;
  for (unsigned i = 0; i < lines; ++i) store(kFar + i * kLine, 1);
  cores_[0]->rest();
  const Picos begin = cores_[0]->now();
  for (unsigned i = 0; i < lines; ++i) load(64 * kFar + i * kLine, 0);
  const Picos writing = lines * machine_.tiers[1].kind.write_occupancy;
  EXPECT_GT(cores_[0]->now() - begin, writing * 95 / 100);
  EXPECT_LT(cores_[0]->now() - begin, writing * 110 / 100);
}

TEST(LineCacheTest, ReplacesTheLeastRecentlyUsed) {
  auto cache = std::make_unique<LineCache>();
  const auto line = [](unsigned i) {  // all in one set
    return std::uint64_t{i + 1} * LineCache::kSets;
  };
  for (unsigned i = 0; i < LineCache::kWays; ++i) {
    EXPECT_FALSE(cache->touch(line(i), false));
    cache->insert(line(i), 0, false);
  }
  EXPECT_TRUE(cache->touch(line(0), false));  // now 1 is the oldest
  cache->insert(line(16), 0, false);
  EXPECT_FALSE(cache->touch(line(1), false));
  EXPECT_TRUE(cache->touch(line(0), false));
  for (unsigned i = 2; i <= 16; ++i) EXPECT_TRUE(cache->touch(line(i), false));
}

TEST(LineCacheTest, AgreesWithAPlainListOnRandomAccesses) {
  auto cache = std::make_unique<LineCache>();
  std::vector<std::uint64_t> recent;  // of set 5, the last used first
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t line = (1 + random() % 24) * LineCache::kSets + 5;
    const auto found = std::find(recent.begin(), recent.end(), line);
    const bool expected = found != recent.end();
    if (expected) recent.erase(found);
    recent.insert(recent.begin(), line);
    if (recent.size() > LineCache::kWays) recent.pop_back();
    const bool hit = cache->repeats_load(line) || cache->touch(line, false);
    ASSERT_EQ(hit, expected) << "access " << i;
    if (!hit) cache->insert(line, 0, false);
  }
}

TEST(KindsTest, AreOrderedAsTheirNamesPromise) {
  Kinds kinds;
  std::string error;
  ASSERT_TRUE(read_kinds(MACHINE_KINDS, kinds, error)) << error;
  const auto* dram = kinds.find("dram-ddr5");
  const auto* optane = kinds.find("optane");
  const auto* cxl = kinds.find("cxl");
  ASSERT_TRUE(dram && optane && cxl && kinds.find("remote-socket"));
  EXPECT_LT(dram->latency, cxl->latency);
  EXPECT_LT(cxl->latency, optane->latency);
  EXPECT_GT(optane->write_occupancy, 3 * optane->read_occupancy);
  EXPECT_EQ(kinds.find("tape"), nullptr);
  EXPECT_FALSE(read_kinds("/no/such/file", kinds, error));
}

}  // namespace
}  // namespace thermocline
