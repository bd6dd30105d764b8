#include "estimator/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "estimator/differential.h"
#include "estimator/rate_changes.h"
#include "estimator/windows.h"
#include "tests/estimator/synthetic.h"

namespace thermocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A set-up with a twentieth of the solver's samples a second.
SyntheticJob mini_fe() {
  SyntheticJob job;
  job.objects = 2;
  job.counters = false;
  job.phases = {{1'000'000, {{0, 300, 0}}}, {4'000'000, {{1, 10'000, 0}}}};
  return job;
}
const std::vector<Nanos> kSlow{16'000'000, 26'000'000};
const std::vector<Nanos> kFast{16'000'000, 9'000'000};

// Samples of one object at random instants, `rates` a millisecond, each for so
// many milliseconds.
Trace random_run(const std::vector<std::pair<double, int>>& rates,
                 unsigned seed) {
  std::mt19937 random(seed);
  Trace trace;
  trace.marks.push_back({0, "start"});
  double time = 0, end = 0;
  for (const auto& [rate, length] : rates) {
    end += length * 1e6;
    std::exponential_distribution<double> gap(rate / 1e6);
    for (time = end - length * 1e6 + gap(random); time < end;
         time += gap(random)) {
      Sample sample;
      sample.time = static_cast<Nanos>(time);
      sample.address = SyntheticJob::address(0);
      trace.samples.push_back(sample);
    }
  }
  trace.end = {true, 0, static_cast<Nanos>(end)};
  trace.sort();
  return trace;
}

Result<Phases> match(const Trace& slow, const Trace& fast, bool split = true) {
  const NamedRun runs[] = {{"slow", &slow}, {"fast", &fast}};
  return match_phases(runs, split);
}

TEST(RateChanges, ASteadyRateHasNone) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    EXPECT_TRUE(rate_changes(random_run({{100, 100}}, seed)).empty()) << seed;
  }
}

TEST(RateChanges, FindsEachChangeWithinAFewSamples) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const auto changes =
        rate_changes(random_run({{10, 30}, {200, 50}, {40, 20}}, seed));
    ASSERT_EQ(changes.size(), 2U) << seed;
    EXPECT_NEAR(static_cast<double>(changes[0].at), 30e6, 0.2e6) << seed;
    EXPECT_NEAR(static_cast<double>(changes[1].at), 80e6, 0.2e6) << seed;
    EXPECT_TRUE(changes[0].clear());
    EXPECT_TRUE(changes[1].clear());
  }
}

TEST(RateChanges, BurstsAreNoPhases) {
  // Nineteen samples at one instant, as a hardware buffer delivers them.
  Trace trace = random_run({{20, 100}}, 3);
  std::vector<Sample> all;
  for (const Sample& sample : trace.samples) {
    all.insert(all.end(), 19, sample);
  }
  trace.samples = all;
  EXPECT_TRUE(rate_changes(trace).empty());
}

TEST(RateChanges, AFewSamplesTellNothing) {
  EXPECT_TRUE(rate_changes(random_run({{1, 50}, {20, 1}}, 1)).empty());
  Trace none = random_run({{1, 50}}, 1);
  none.samples.clear();
  EXPECT_TRUE(rate_changes(none).empty());
}

TEST(RateChanges, APeriodThatChangesIsNoChangeOfTheRate) {
  Trace trace = random_run({{100, 50}, {10, 50}}, 5);
  for (Sample& sample : trace.samples) {
    sample.period = sample.time < 50'000'000 ? 1 : 10;
  }
  EXPECT_TRUE(rate_changes(trace).empty());
}

TEST(Phases, ByRateWhereThereAreNoMarks) {
  const auto job = mini_fe();
  const auto phases =
      match(job.run("all_slow", kSlow),
            job.run("all_fast", kFast, {1, 0.65}, /*start=*/500'000));
  ASSERT_TRUE(phases) << phases.error().message;
  ASSERT_EQ(phases->names.size(), 2U);
  EXPECT_NEAR(static_cast<double>(phases->pins[0][0].back()), 16'001'000,
              4'000);
  EXPECT_NEAR(static_cast<double>(phases->pins[1][0].back()), 16'500'000,
              4'000);
  EXPECT_EQ(phases->pins[1][1].back(), 25'500'000);
}

TEST(Phases, AChangeIsAtOneInstructionWhereTheyWereCounted) {
  auto job = mini_fe();
  job.counters = true;
  const auto phases =
      match(job.run("all_slow", kSlow), job.run("all_fast", kFast, {1, 0.65}));
  ASSERT_TRUE(phases) << phases.error().message;
  ASSERT_EQ(phases->names.size(), 2U);
  const auto done = [](Nanos at, Nanos solver_ns) {
    const double solver = static_cast<double>(at - 16'001'000);
    return 4e6 * solver / static_cast<double>(solver_ns);
  };
  EXPECT_NEAR(done(phases->pins[0][0].back(), kSlow[1]),
              done(phases->pins[1][0].back(), kFast[1]), 1);
}

TEST(Phases, AChangeThatOneRunHidesIsFoundByItsInstructions) {
  // In slow memory both phases are sampled at one rate, for memory paces them.
  auto job = mini_fe();
  job.counters = true;
  SyntheticJob paced = job;
  paced.phases[0].touches = {{0, 6154, 0}};
  const auto phases =
      match(paced.run("all_slow", kSlow), job.run("all_fast", kFast));
  ASSERT_TRUE(phases) << phases.error().message;
  ASSERT_EQ(phases->names.size(), 2U);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_NEAR(static_cast<double>(phases->pins[r][0].back()), 16'001'000,
                5'000);
  }
}

TEST(Phases, WithoutInstructionsRunsThatDisagreeAreRefused) {
  const auto job = mini_fe();
  SyntheticJob even = job;
  even.phases[0].touches = {{0, 6000, 0}};
  const Trace slow = job.run("all_slow", kSlow);
  const Trace fast = even.run("all_fast", kFast);
  const auto refused = match(slow, fast);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(HasSubstr("1 in the slow run"),
                             HasSubstr("0 in the fast run"),
                             HasSubstr("--phases none")));
  const auto made = Differential::from_pair(slow, fast, {10, kRegion});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, refused.error().message);
  const auto whole = Differential::from_pair(slow, fast, {10, kRegion, false});
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->phases().size(), 1U);
}

TEST(Phases, WhatIsUnclearInOneRunIsNoReasonToRefuse) {
  // Twice the rate in one run, 1.7 times in the other.
  const auto phases = match(random_run({{100, 50}, {230, 50}}, 1),
                            random_run({{100, 50}, {170, 50}}, 2));
  ASSERT_TRUE(phases) << phases.error().message;
  EXPECT_EQ(phases->names.size(), 1U);
}

TEST(Phases, MarksOfOneNameAreOnePhaseAndPinIt) {
  Trace trace = random_run({{100, 50}}, 1);
  int at = 1;
  for (const char* name : {"load", "step 1", "step 2", "step 3", "save"}) {
    trace.marks.push_back({at++ * 1'000'000, name});
  }
  trace.sort();
  const auto phases = match(trace, trace);
  ASSERT_TRUE(phases) << phases.error().message;
  EXPECT_THAT(phases->names,
              ElementsAre("before the first mark", "load", "step", "save"));
  EXPECT_THAT(phases->pins[0][2],
              ElementsAre(2'000'000, 3'000'000, 4'000'000, 5'000'000));
  const auto whole = match(trace, trace, /*split=*/false);
  ASSERT_TRUE(whole);
  EXPECT_THAT(whole->names, ElementsAre("all"));
  EXPECT_EQ(whole->pins[0][0].size(), 7U) << "marks pin the axis all the same";
}

TEST(Phases, OtherMarksAreRefusedNamingTheFirstThatDiffers) {
  Trace a = random_run({{100, 50}}, 1);
  a.marks.push_back({1'000'000, "load"});
  a.marks.push_back({2'000'000, "solve"});
  a.sort();
  Trace b = a;
  b.marks[2].name = "sort";
  EXPECT_THAT(
      match(a, b).error().message,
      testing::AllOf(HasSubstr("mark 2 of 2"), HasSubstr("\"solve\""),
                     HasSubstr("\"sort\""), HasSubstr("--phases none")));
  b.marks.pop_back();
  EXPECT_THAT(match(a, b).error().message,
              testing::AllOf(HasSubstr("\"solve\""), HasSubstr("none")));
  b.marks.resize(1);
  EXPECT_THAT(match(b, a).error().message, HasSubstr("\"load\""));
  EXPECT_TRUE(match(a, b, /*split=*/false));
}

TEST(Phases, WindowsNeverStraddleThem) {
  const auto job = mini_fe();
  const Trace slow = job.run("all_slow", kSlow);
  const Trace fast = job.run("all_fast", kFast, {1, 0.65}, 77);
  const auto phases = match(slow, fast);
  ASSERT_TRUE(phases);
  const Trace* const runs[] = {&slow, &fast};
  for (const std::size_t windows : {1, 2, 3, 10, 1000}) {
    const auto cuts = cut_runs(runs, *phases, windows);
    ASSERT_EQ(cuts.phase_ends.size(), 2U);
    ASSERT_EQ(cuts.phase_ends.back(), std::max<std::size_t>(windows, 2));
    for (std::size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(cuts.runs[r].at[cuts.phase_ends[0]],
                phases->pins[r][1].front());
      for (std::size_t s = 0; s < runs[r]->samples.size(); ++s) {
        const bool set_up =
            runs[r]->samples[s].address < SyntheticJob::address(1);
        EXPECT_EQ(cuts.runs[r].of_sample[s] < cuts.phase_ends[0], set_up)
            << "sample " << s << " of " << windows << " windows";
      }
    }
  }
}

TEST(Phases, AWindowWithoutSamplesAsksItsOwnPhaseFirst) {
  // The second phase has samples at its end only; its first window lies next to
  // the first phase.
  SyntheticJob job;
  job.objects = 2;
  job.marks = true;
  job.phases = {{1000, {{0, 100, 0}}}, {4000, {{1, 4, 0}}}};
  Trace slow = job.run("all_slow", {4000, 4000});
  Trace fast = job.run("all_fast", {1000, 1000});
  for (Trace* trace : {&slow, &fast}) {
    std::erase_if(trace->samples, [&](const Sample& sample) {
      return sample.address >= SyntheticJob::address(1) &&
             sample.time < trace->end_ns() - trace->run_ns() / 8;
    });
  }
  const auto made = Differential::from_pair(slow, fast, {20, kRegion});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->phases().size(), 2U);
  const std::size_t first = made->phases()[1].first;
  ASSERT_EQ(made->accesses(first).size(), 1U);
  EXPECT_EQ(made->accesses(first)[0].object, 1U);
  EXPECT_EQ(made->total_ns(std::vector<TierId>{0, 1}), 1000 + 4000);
}

TEST(Phases, APhaseWithoutSamplesKeepsItsTime) {
  SyntheticJob job;
  job.objects = 2;
  job.marks = true;
  job.phases = {{1000, {{0, 100, 0}}}, {1000, {}}, {1000, {{1, 100, 0}}}};
  Trace slow = job.run("all_slow", {300, 500, 900});
  Trace fast = job.run("all_fast", {100, 200, 300});
  for (Trace* trace : {&slow, &fast}) {
    for (Mark& mark : trace->marks) {
      if (mark.name == "phase 2") mark.name = "after";
    }
  }
  const auto made = Differential::from_pair(slow, fast, {6, kRegion});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->phases().size(), 3U);
  EXPECT_EQ(made->total_ns(std::vector<TierId>{1, 1}), 1700);
  EXPECT_EQ(made->total_ns(std::vector<TierId>{0, 0}), 600);
  // One of its two windows is next to each neighbour.
  EXPECT_EQ(made->total_ns(std::vector<TierId>{1, 0}), 300 + 350 + 300);
}

}  // namespace
}  // namespace thermocline
