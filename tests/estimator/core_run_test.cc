// What a core takes for accesses to two tiers, and how that is learned.
#include "estimator/core_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "estimator/class_mixing.h"
#include "estimator/mixed_run.h"
#include "estimator/shape_fit.h"

namespace thermocline {
namespace {

// 10 and 40 ns a line, 100 and 300 ns idle.
AccessShape load() {
  AccessShape shape;
  shape.read_ns = {10, 40};
  shape.latency_ns = {100, 300};
  return shape;
}
AccessShape stream() {
  AccessShape shape = load();
  shape.sequential = true;
  return shape;
}
AccessShape chase() {
  AccessShape shape = load();
  shape.needed = 1;
  return shape;
}
// Ten misses in a window.
AccessShape gather() {
  AccessShape shape = load();
  shape.read_ns = {1, 4};
  return shape;
}
AccessShape store() {
  AccessShape shape = load();
  shape.store = true;
  shape.written_ns = {15, 100};
  return shape;
}

struct Placed {
  AccessShape shape;
  int slow = 0;  // of its samples
  int fast = 0;
};

double ns_per_access(const std::vector<Placed>& all,
                     std::vector<SeenAccesses>* seen = nullptr) {
  AccessModel model;
  std::vector<Step> steps;
  for (const Placed& one : all) {
    const auto number = static_cast<std::uint16_t>(model.shapes.size());
    model.shapes.push_back(one.shape);
    for (int i = 0; i < one.slow; ++i) steps.push_back({number, 1});
    for (int i = 0; i < one.fast; ++i) steps.push_back({number, 0});
  }
  if (seen != nullptr) seen->assign(model.shapes.size(), {});
  CoreRun core(model,
               seen != nullptr ? std::span(*seen) : std::span<SeenAccesses>());
  core.run(steps, 20);
  const double before = core.now(), accesses = core.accesses();
  core.run(steps, 200);
  return (core.now() - before) / (core.accesses() - accesses);
}

TEST(CoreRun, AChaseIsASum) {
  EXPECT_NEAR(ns_per_access({{chase(), 16, 0}}), 300, 1);
  EXPECT_NEAR(ns_per_access({{chase(), 4, 12}}), 150, 1);
}

TEST(CoreRun, TenLoadsAreInFlight) {
  EXPECT_NEAR(ns_per_access({{gather(), 16, 0}}), 30, 2);
  EXPECT_NEAR(ns_per_access({{gather(), 0, 16}}), 10, 1);
  AccessShape few = gather();
  few.instructions = kWindowInstructions / 2;  // fewer in a window
  EXPECT_NEAR(ns_per_access({{few, 16, 0}}), 150, 15);
}

TEST(CoreRun, AStreamTakesWhatItsLinkTakes) {
  EXPECT_NEAR(ns_per_access({{stream(), 16, 0}}), 40, 2);
  EXPECT_NEAR(ns_per_access({{stream(), 0, 16}}), 10, 1);
  AccessShape busy = stream();
  busy.work_ns = 100;  // longer than a line takes, and it is there already
  EXPECT_NEAR(ns_per_access({{busy, 16, 0}}), 100, 10);
}

// Four streams of slow memory, sixteen of fast memory.
TEST(CoreRun, TwoLinksCarryMoreThanOne) {
  std::vector<Placed> all(4, {stream(), 1, 0});
  all.resize(20, {stream(), 0, 1});
  EXPECT_GT(ns_per_access(all), 8);
  EXPECT_LT(ns_per_access(all), (4 * 40 + 16 * 10) / 20.0 * 0.75);
}

TEST(CoreRun, TheSlowestInFlightHoldsUpTheOthers) {
  const double mixed = ns_per_access({{gather(), 4, 12}});
  EXPECT_GT(mixed, (4 * 30 + 12 * 10) / 16.0 + 4);
  EXPECT_LT(mixed, 30);
}

TEST(CoreRun, StoresArePostedUntilTheLinkIsFull) {
  AccessShape rare = store();
  rare.work_ns = 400;
  EXPECT_NEAR(ns_per_access({{rare, 16, 0}}), 400, 4);
  EXPECT_NEAR(ns_per_access({{store(), 16, 0}}), 140, 3);
  EXPECT_NEAR(ns_per_access({{store(), 0, 16}}), 25, 1);
}

// Of a chase, the core waits for each; of others for those that fill the
// window.
TEST(CoreRun, WhatWasWaitedForIsTold) {
  std::vector<SeenAccesses> seen;
  const double alone = ns_per_access({{chase(), 16, 0}}, &seen);
  EXPECT_NEAR(seen[0].waited / seen[0].count, alone, 0.05 * alone);
  const double both = ns_per_access({{chase(), 8, 0}, {gather(), 8, 0}}, &seen);
  const double chased = seen[0].waited / seen[0].count;
  const double gathered = seen[1].waited / seen[1].count;
  EXPECT_GT(chased, 10 * gathered);
  EXPECT_NEAR((chased + gathered) / 2, both, 0.1 * both);
}

// A burst queues behind itself.
TEST(CoreRun, LoadsOfABurstWaitForEachOther) {
  AccessShape burst = load();
  burst.needed = 1;
  std::vector<SeenAccesses> seen;
  double before = 0;
  for (const std::size_t length : {1UL, 4UL, 8UL}) {
    burst.burst = length;
    ns_per_access({{burst, 16, 0}}, &seen);
    const double queue = static_cast<double>(length - 1) / 2 * 40;
    EXPECT_NEAR(seen[0].latency.mean(), 300 + queue, 5);
    EXPECT_GT(seen[0].latency.mean(), before);
    before = seen[0].latency.mean();
  }
}

double slow_ns_per_access(const AccessModel& model) {
  CoreRun core(model);
  std::vector<Step> steps(16, {0, 1});
  core.run(steps, 200);
  return core.now() / core.accesses();
}

// Apart, one fills the window; together, four are in flight.
TEST(CoreRun, AccessesThatComeTogetherOverlap) {
  AccessShape rare = gather();
  rare.instructions = kWindowInstructions;
  for (const std::size_t together : {1UL, 4UL}) {
    EXPECT_NEAR(slow_ns_per_access({{rare}, together}),
                300.0 / static_cast<double>(together), 5);
  }
}

// Sixteen together, of which as many overlap as fit a window.
TEST(CoreRun, AccessesSomeWayApartShareAWindow) {
  AccessShape rare = gather();
  rare.instructions = 4 * kWindowInstructions;
  EXPECT_NEAR(slow_ns_per_access({{rare}, 16, 64}), 300.0 / 4, 10);
}

// What was written goes back when another's lines come, and then no more.
TEST(CoreRun, LinesGoBackForThoseOfAnyClass) {
  const AccessModel model{{store(), chase()}};
  CoreRun core(model);
  std::vector<Step> written(16, {0, 1}), chased(16, {1, 1});
  core.run(written, 20);
  const double before = core.now();
  core.run(chased, 20);
  EXPECT_GT(core.now() - before, 20 * 16 * 310);
  const double clean = core.now();
  core.run(chased, 50);
  EXPECT_NEAR(core.now() - clean, 50 * 16 * 300, 50 * 16);
}

TEST(CoreRun, IsFiniteAndNeverFasterThanItsLinks) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> ns(0, 100);
  for (int i = 0; i < 200; ++i) {
    std::vector<Placed> all;
    ByTier link{};
    int steps = 0;
    for (int k = 0; k < 4; ++k) {
      AccessShape shape;
      shape.store = random() % 2 == 0;
      shape.sequential = random() % 2 == 0;
      shape.work_ns = ns(random);
      shape.instructions = ns(random);
      shape.burst = 1 + random() % kMostBurst;
      shape.needed = ns(random) / 100;
      shape.read_ns = {ns(random), ns(random)};
      shape.latency_ns = {ns(random), 3 * ns(random)};
      all.push_back({shape, static_cast<int>(random() % 5),
                     static_cast<int>(random() % 5)});
      link[1] += all.back().slow * shape.read_ns[1];
      link[0] += all.back().fast * shape.read_ns[0];
      steps += all.back().slow + all.back().fast;
    }
    if (steps == 0) continue;
    const double time = ns_per_access(all);
    ASSERT_TRUE(std::isfinite(time));
    // Streams keep to one tier for a page: their share is that of the steps
    // only on average.
    ASSERT_GE(time * 1.3, std::max(link[0], link[1]) / steps);
    ASSERT_EQ(time, ns_per_access(all));
  }
}

TEST(ClassMixing, ClassesOfOneLoopKeepCompany) {
  std::vector<std::uint32_t> samples;
  std::mt19937_64 random(1);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::uint32_t loop = i / 40 % 2;  // two loops in turns
    samples.push_back(2 * loop + static_cast<std::uint32_t>(random() % 2));
  }
  samples[5000] = 4;
  const auto company = companies(samples, 5);
  EXPECT_EQ(company[0], company[1]);
  EXPECT_EQ(company[2], company[3]);
  EXPECT_NE(company[0], company[2]);
  EXPECT_EQ(company[4], kAnyCompany);
}

constexpr std::uint64_t kLoads = 0x10, kIndices = 0x20;  // instructions

Machine machine_of_two(double bandwidth) {
  Machine machine;
  machine.tiers.resize(2);
  machine.cycles_per_ns = 1;
  machine.tiers[0].read_ns = machine.tiers[0].write_ns = 100;
  machine.tiers[1].read_ns = machine.tiers[1].write_ns = 300;
  machine.tiers[0].read_bytes_per_s = machine.tiers[0].write_bytes_per_s =
      4 * bandwidth;
  machine.tiers[1].read_bytes_per_s = machine.tiers[1].write_bytes_per_s =
      bandwidth;
  return machine;
}

// Loads at random, and if `indexed` seven times as many of an array that is
// read in order.
Trace samples_of(bool indexed) {
  Trace slow;
  slow.info.page_bytes = 4096;
  std::mt19937_64 random(2);
  for (int i = 0; i < 4000; ++i) {
    if (indexed && i % 8 > 0) {
      const auto at = static_cast<Address>(i - i / 8) * 64;
      slow.samples.push_back({i * 1000, (Address{1} << 32) + at, kIndices});
    } else {
      slow.samples.push_back({i * 1000, random() % (1 << 28), kLoads});
    }
    Counters counters;
    counters.time = i * 1000 + 1;
    counters.instructions = 26 * static_cast<std::uint64_t>(i + 1);
    counters.cycles = static_cast<std::uint64_t>(i) * 1000;
    counters.stall_cycles = static_cast<std::uint64_t>(i) * 995;
    slow.counters.push_back(counters);
  }
  return slow;
}

// A job whose accesses are known, and what a fit makes of its two runs.
class Known {
 public:
  Known(const AccessShape& loads, const AccessShape& indices, bool indexed,
        bool waits = false)
      : slow_(samples_of(indexed)), classes_(slow_, slow_) {
    mixture_.of_sample = classes_.of_samples(slow_);
    mixture_.company = companies(mixture_.of_sample, classes_.all().size());
    truth_.shapes.assign(classes_.all().size(), loads);
    loads_ = mixture_.of_sample[0];
    indices_ = mixture_.of_sample[1];
    if (indexed) truth_.shapes[indices_] = indices;
    std::vector<ClassTimes> times(classes_.all().size());
    for (const auto c : mixture_.of_sample) times[c].samples += 1;
    for (std::uint16_t t = 0; t < 2; ++t) {
      std::vector<SeenAccesses> seen(truth_.shapes.size());
      const double ns = run_ns(truth_, t, t, &seen);
      for (const auto c : {loads_, indices_}) {
        times[c].sample_ns[t] = ns;
        times[c].latency[t] = seen[c].latency;
        if (waits && seen[c].count > 0) {
          times[c].waited_ns[t] = seen[c].waited / seen[c].count;
        }
      }
    }
    found_ = fit_shapes(slow_, classes_, times, mixture_,
                        machine_of_two(64e9 / loads.read_ns[1]));
  }

  // Loads and indices in these tiers; by what was found, of what is true.
  double told(std::uint16_t loads, std::uint16_t indices) const {
    double ns = 0, weights = 0;
    for (const AccessModel& model : found_) {
      ns += model.weight * run_ns(model, loads, indices);
      weights += model.weight;
    }
    return ns / weights / run_ns(truth_, loads, indices);
  }
  // One of so many samples in slow memory.
  double told_of(unsigned one_in) const {
    double ns = 0, weights = 0;
    for (const AccessModel& model : found_) {
      ns += model.weight * spread_ns(model, one_in);
      weights += model.weight;
    }
    return ns / weights / spread_ns(truth_, one_in);
  }
  double needed_index() const { return found_[0].shapes[indices_].needed; }
  bool sequential() const { return classes_.all()[indices_].sequential; }

 private:
  template <typename Tier>
  double run(const AccessModel& model, Tier tier,
             std::vector<SeenAccesses>* seen = nullptr) const {
    MixedRun run(
        model, mixture_.company, 8,
        seen != nullptr ? std::span(*seen) : std::span<SeenAccesses>());
    for (const auto c : mixture_.of_sample) {
      run.add({static_cast<std::uint16_t>(c), tier(c)});
    }
    return run.ns_per_access();
  }
  double run_ns(const AccessModel& model, std::uint16_t loads,
                std::uint16_t indices,
                std::vector<SeenAccesses>* seen = nullptr) const {
    const auto tier = [&](auto c) { return c == loads_ ? loads : indices; };
    return run(model, tier, seen);
  }
  double spread_ns(const AccessModel& model, unsigned one_in) const {
    std::mt19937_64 random(8);
    return run(model, [&](auto) {
      return static_cast<std::uint16_t>(random() % one_in == 0);
    });
  }

  Trace slow_;
  AccessClasses classes_;
  Mixture mixture_;
  AccessModel truth_;
  std::uint32_t loads_ = 0, indices_ = 0;
  std::vector<AccessModel> found_;
};

AccessShape loads_made(std::size_t burst, double needed) {
  AccessShape made = load();
  made.burst = burst;
  made.needed = needed;
  made.work_ns = 5;
  made.instructions = 26;
  return made;
}

// Its placed runs follow from what was learned of its endpoints alone; not
// well for longer bursts: they look like short ones of which more is needed.
TEST(ShapeFit, FindsHowAccessesAreMade) {
  for (const std::size_t burst : {1UL, 2UL, 4UL}) {
    for (const double needed : {0.0, 0.3, 1.0}) {
      const Known known(loads_made(burst, needed), {}, false);
      for (const unsigned one_in : {2U, 4U}) {
        EXPECT_NEAR(known.told_of(one_in), 1, burst == 1 ? 0.04 : 0.16)
            << burst << " " << needed;
      }
    }
  }
}

// What an index points to waits where nothing fetched the index ahead. In doubt
// for less of that than is true; were it taken for none, 0.60.
TEST(ShapeFit, FindsWhetherAnIndexIsWaitedFor) {
  AccessShape loads = loads_made(1, 0), indices = stream();
  for (AccessShape* made : {&loads, &indices}) {
    made->read_ns = {1, 4};
    made->work_ns = 5;
    made->instructions = 26;
  }
  const Known never(loads, indices, true);
  ASSERT_TRUE(never.sequential());
  EXPECT_LT(never.needed_index(), 0.05);
  EXPECT_NEAR(never.told(0, 1), 1, 0.1);
  indices.needed = 1;
  const Known always(loads, indices, true);
  EXPECT_GT(always.needed_index(), 0.1);
  EXPECT_GT(always.told(0, 1), 0.7);
  EXPECT_NEAR(always.told(1, 0), 1, 0.1);
  // With what was waited for each alone, more of it.
  const Known told(loads, indices, true, true);
  EXPECT_GT(told.needed_index(), 1.5 * always.needed_index());
  EXPECT_GT(told.told(0, 1), always.told(0, 1) + 0.05);
  EXPECT_NEAR(told.told(0, 1), 1, 0.15);
}

}  // namespace
}  // namespace thermocline
