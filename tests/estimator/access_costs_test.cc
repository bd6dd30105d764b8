// What samples stand for: classes, their costs, and what tiers save together.
// The jobs are imagined, and what they cost is known.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "estimator/access_classes.h"
#include "estimator/class_costs.h"
#include "estimator/differential.h"
#include "estimator/savings.h"
#include "estimator/smoothing.h"

namespace thermocline {
namespace {

constexpr std::uint32_t kPeriod = 97;
constexpr Address kBase = Address{1} << 32;
constexpr Bytes kArray = 32 * 1024 * 1024;

// Latencies and bandwidths as of DRAM and Optane.
Machine machine() {
  Machine made;
  made.name = "imagined";
  made.cycles_per_ns = 3;
  made.tiers = {{"fast", {0}, 1 << 30, 100, 100, 6.4e9, 6.4e9, false},
                {"slow", {1}, 1 << 30, 300, 300, 1.6e9, 0.4e9, false}};
  return made;
}

// A run whose samples are appended one after another.
struct JobRun {
  explicit JobRun(const std::string& placement, const Machine& on) {
    trace.info.command = {"imagined"};
    trace.info.placement = placement;
    trace.info.machine = on.to_json();
    trace.mappings.push_back({0, kBase, kBase + 2 * kArray, "rw-p", ""});
    trace.marks.push_back({0, "start"});
  }
  // One sample, `ns` for each of its accesses after the last.
  void add(Address ip, Address at, double ns, double latency_ns,
           Access access = Access::kLoad) {
    now += ns * kPeriod;
    Sample sample;
    sample.time = std::llround(now);
    sample.ip = ip;
    sample.address = at;
    sample.period = kPeriod;
    sample.latency = static_cast<std::uint32_t>(latency_ns * 3);
    sample.access = access;
    trace.samples.push_back(sample);
  }
  Trace done() {
    trace.marks.push_back({std::llround(now), "end"});
    trace.end.known = true;
    trace.end.run_ns = std::llround(now);
    trace.sort();
    return trace;
  }
  Trace trace;
  double now = 0;
};

// Parts of `run` samples of a chase through one array, then of a stream
// through the next, in turn.
Trace chase_and_stream(bool slow, int run) {
  JobRun made(slow ? "all_slow" : "all_fast", machine());
  std::mt19937_64 random(7);
  Address stream = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (i / run % 2 == 0) {
      made.add(1, kBase + random() % kArray, slow ? 300 : 100,
               slow ? 300 : 100);
    } else {
      stream = (stream + kPeriod * 64) % kArray;
      made.add(2, kBase + kArray + stream, slow ? 40 : 10, slow ? 390 : 95);
    }
  }
  return made.done();
}

TEST(AccessClasses, TellAStreamFromAChaseAndCountHiddenLines) {
  JobRun made("all_slow", machine());
  std::mt19937_64 random(7);
  Address stream = 0;
  for (int i = 0; i < 20'000; ++i) {
    made.add(1, kBase + random() % kArray, 50, 0);
    if (i % 10 != 0) continue;
    stream = (stream + 8 * kPeriod * 64) % kArray;  // 7 of 8 lines are hidden
    made.add(2, kBase + kArray + stream, 50, 0);
  }
  const Trace trace = made.done();
  const AccessClasses classes(trace, trace);
  ASSERT_EQ(classes.all().size(), 4u) << "two, and two for the rest";
  EXPECT_TRUE(classes.known());
  const auto class_of = [&](Address ip) {
    Sample sample;
    sample.ip = ip;
    return classes.all()[classes.of(sample)];
  };
  EXPECT_FALSE(class_of(1).sequential);
  EXPECT_EQ(class_of(1).lines, 1);
  EXPECT_TRUE(class_of(2).sequential);
  EXPECT_NEAR(class_of(2).lines, 8, 0.1);
  EXPECT_FALSE(class_of(77).sequential) << "not known";
}

TEST(AccessClasses, AreNotKnownWithoutInstructions) {
  JobRun made("all_slow", machine());
  for (int i = 0; i < 1000; ++i) made.add(0, kBase, 50, 0);
  const Trace trace = made.done();
  EXPECT_FALSE(AccessClasses(trace, trace).known());
}

// 300 ns a chased access, 40 ns a streamed one, and all of the time in all.
void expect_known_costs(const Trace& trace) {
  const AccessClasses classes(trace, trace);
  const auto costs = class_costs(trace, classes, machine().tiers[1], 3);
  Sample chase, stream;
  chase.ip = 1;
  stream.ip = 2;
  EXPECT_NEAR(costs[classes.of(chase)], 300 * kPeriod, 15 * kPeriod);
  EXPECT_NEAR(costs[classes.of(stream)], 40 * kPeriod, 15 * kPeriod);
  double sum = 0;
  for (const auto& sample : trace.samples) sum += costs[classes.of(sample)];
  EXPECT_NEAR(sum, static_cast<double>(trace.run_ns()), 1);
}

TEST(ClassCosts, AreSolvedWhereClassesTakeTurns) {
  expect_known_costs(chase_and_stream(true, 10));
}

// Every other sample is of the chase: time tells nothing, latency does.
TEST(ClassCosts, AreThePriorsWhereClassesComeMixed) {
  expect_known_costs(chase_and_stream(true, 1));
}

// A chase and, now and then, another, which the fast run was held up in by
// something else.
Trace held_up(bool slow) {
  JobRun made(slow ? "all_slow" : "all_fast", machine());
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const bool other = i % 400 < 40;
    const double ns = slow ? 300 : other ? 600 : 100;
    made.add(other ? 2 : 1, kBase + random() % kArray, ns, slow ? 300 : 100);
  }
  return made.done();
}

TEST(ClassCosts, OfTwoRunsDoNotContradictOneAnother) {
  const Trace slow = held_up(true), fast = held_up(false);
  const AccessClasses classes(slow, fast);
  const auto both = class_costs({slow, machine().tiers[1]},
                                {fast, machine().tiers[0]}, classes, 3);
  Sample other;
  other.ip = 2;
  const auto c = classes.of(other);
  EXPECT_GT(class_costs(fast, classes, machine().tiers[0], 3)[c],
            1.5 * class_costs(slow, classes, machine().tiers[1], 3)[c])
      << "one by one they do";
  EXPECT_LE(both.fast[c], 1.15 * both.slow[c]) << "but for the scale of all";
  double sum = 0;
  for (const auto& sample : fast.samples) sum += both.fast[classes.of(sample)];
  EXPECT_NEAR(sum, static_cast<double>(fast.run_ns()), 1);
}

double half_fast(const Differential& job, bool first) {
  std::vector<TierId> placement;
  for (const auto& region : job.objects()) {
    const bool is_first = region.start < kBase + kArray;
    placement.push_back(is_first == first ? 0 : 1);
  }
  return job.total_ns(placement);
}

TEST(Differential, AChaseIsWorthMoreThanAStreamThatMissesAsOften) {
  // In turns: mixed more finely, their times would not add up.
  for (const int run : {10, 200}) {
    const Trace slow = chase_and_stream(true, run);
    const Trace fast = chase_and_stream(false, run);
    const auto job = Differential::from_pair(slow, fast, {.windows = 20});
    ASSERT_TRUE(job) << job.error().message;
    const double chase = 200.0 * kPeriod * 10'000;
    const double stream = 30.0 * kPeriod * 10'000;
    EXPECT_NEAR(half_fast(*job, true), job->slow_ns() - chase, chase * 0.06);
    EXPECT_NEAR(half_fast(*job, false), job->slow_ns() - stream, chase * 0.06);
    const std::size_t count = job->objects().size();
    EXPECT_EQ(job->total_ns(std::vector<TierId>(count, 1)), job->slow_ns());
    EXPECT_EQ(job->total_ns(std::vector<TierId>(count, 0)), job->fast_ns());
  }
}

// Ten streams at once, which wait for the link alone: with a fifth of them in
// slow memory both links are busy for as long, and all is done sooner than in
// fast memory.
TEST(Differential, AMixCanBeatBothEndpoints) {
  const auto run = [](bool slow) {
    JobRun made(slow ? "all_slow" : "all_fast", machine());
    std::array<Address, 10> at{};
    for (std::size_t i = 0; i < 20'000; ++i) {
      const std::size_t stream = i * 7 % 10;
      at[stream] = (at[stream] + kPeriod * 64) % (kArray / 5);
      made.add(2 + stream, kBase + stream * (kArray / 5) + at[stream],
               slow ? 40 : 10, slow ? 400 : 110);
    }
    return made.done();
  };
  const auto job =
      Differential::from_pair(run(true), run(false), {.windows = 20});
  ASSERT_TRUE(job) << job.error().message;
  std::vector<TierId> placement;
  for (const auto& region : job->objects()) {
    placement.push_back(region.start < kBase + kArray / 5 * 2 ? 1 : 0);
  }
  // Stretches of 256 samples hold a fifth only on average.
  EXPECT_GT(job->total_ns(placement), job->fast_ns() * 0.79);
  EXPECT_LT(job->total_ns(placement), job->fast_ns() * 0.96);
}

// One of three tiers, of 40 samples of four objects that stream.
Savings of_three_tiers() {
  AccessShape shape;
  shape.sequential = true;
  shape.read_ns = {10, 20, 40};
  shape.latency_ns = {100, 150, 300};
  // What lies in the middle takes longer than the core makes of it.
  const ByTier times{10, 28, 40};
  Savings savings(3, {times, times}, {{{shape, shape}}}, {0, 0});
  for (ObjectId i = 0; i < 40; ++i) savings.add(i % 4, i % 2);
  savings.end_window({1, 1, 1});
  savings.index(4);
  return savings;
}

TEST(Savings, NothingIsSavedWithAllInOneTier) {
  const auto savings = of_three_tiers();
  for (TierId tier = 0; tier < 3; ++tier) {
    EXPECT_EQ(savings.saved_ns(0, std::vector<TierId>(4, tier)), 0);
  }
  EXPECT_EQ(savings.saved_ns(7, std::vector<TierId>(4, 0)), 0);
}

TEST(Savings, EachTierHasALinkOfItsOwn) {
  const auto savings = of_three_tiers();
  const auto saved = [&](std::vector<TierId> placement) {
    return savings.saved_ns(0, placement);
  };
  EXPECT_GT(saved({0, 0, 2, 0}), 0);
  EXPECT_GT(saved({0, 1, 1, 0}), 0);
  EXPECT_GT(saved({1, 1, 2, 1}), 0);
  // Three links carry more than two.
  EXPECT_GT(saved({0, 1, 2, 0}), saved({0, 0, 2, 0}));
}

// Two sequences of as many misses, a chase and a gather: what was waited for
// tells how they share the window, and not their kind's mean.
TEST(Savings, SequencesShareAWindowByTheirRuns) {
  AccessShape chase, gather;
  for (AccessShape* shape : {&chase, &gather}) {
    shape->instructions = 4;
    shape->read_ns = {10, 40};
    shape->latency_ns = {100, 300};
  }
  chase.needed = 1;
  ByTier each{};
  each[0] = 1, each[1] = 2;
  Savings savings(2, {each, each}, {{{chase, gather}}}, {});
  for (std::uint16_t kind = 0; kind < 2; ++kind) {
    for (ObjectId i = 0; i < 256; ++i) {
      savings.add(i % 2, {(Address{kind} + 1) << 30 | i << 15, 4, kind, true});
    }
    savings.end_sequence();
  }
  savings.end_window({100, 200});
  savings.index(2);
  ASSERT_EQ(savings.stretches(), 2u);
  for (std::size_t tier = 0; tier < 2; ++tier) {
    EXPECT_GT(savings.scale(0, tier), 4 * savings.scale(1, tier));
    EXPECT_NEAR(savings.scale(0, tier) + savings.scale(1, tier),
                tier == 0 ? 200 : 400, 1e-6);
    const std::vector<TierId> alone(2, static_cast<TierId>(tier));
    EXPECT_EQ(savings.saved_ns(0, alone), 0);
  }
}

// 256 pages of equal heat, eight samples each by chance.
TEST(Smoothing, LuckyPagesAreNotHotter) {
  const auto noise = [](double factor) {
    RegionMap regions(4096);
    regions.add({0, kBase, kBase + 256 * 4096, "rw-p", ""});
    std::mt19937_64 random(7);
    Tally tally;
    tally.windows.resize(1);
    std::vector<int> samples(256, 0);
    for (int i = 0; i < 2048; ++i) ++samples[random() % 256];
    double all = 0, lucky = 0;
    for (ObjectId page = 0; page < 256; ++page) {
      const double hot = page % 2 == 0 ? factor : 1;
      const double count = samples[page] * hot;
      if (count == 0) continue;
      tally.windows[0].push_back({page, count, 0, count});
      all += count;
    }
    tally.all = tally.samples = all;
    for (auto& one : tally.windows[0]) one.cost /= all;
    auto hottest = tally.windows[0];
    std::sort(hottest.begin(), hottest.end(),
              [](const auto& a, const auto& b) { return a.loads > b.loads; });
    smooth(tally, regions, 1, EvenOut::kAll);
    double sum = 0;
    for (const auto& one : tally.windows[0]) sum += one.cost;
    EXPECT_NEAR(sum, 1, 1e-9);
    for (std::size_t i = 0; i < 64; ++i) {
      lucky += std::find_if(tally.windows[0].begin(), tally.windows[0].end(),
                            [&](const auto& one) {
                              return one.object == hottest[i].object;
                            })
                   ->cost;
    }
    return lucky;
  };
  EXPECT_NEAR(noise(1), 0.25, 0.02) << "a quarter of the pages";
  EXPECT_GT(noise(20), 0.45) << "those are really hotter";
}

}  // namespace
}  // namespace thermocline
