// The published estimate: its formula on traces that are worked out by hand,
// the losses that are known of it, and golden values on the real pair.
#include "estimator/denoyelle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/estimator/knl.h"

namespace thermocline {
namespace {

using Unit = Denoyelle::Unit;
using Flags = std::vector<std::uint8_t>;

struct At {
  Nanos time;
  Address page;
};

Trace trace_of(const std::vector<At>& samples) {
  Trace trace;
  for (const At& at : samples) {
    Sample sample;
    sample.time = at.time;
    sample.address = at.page << 12;
    trace.samples.push_back(sample);
  }
  return trace;
}

Denoyelle of(const Trace& slow, const Trace& fast,
             const Denoyelle::Options& options) {
  auto made = Denoyelle::from_pair(slow, fast, options);
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

constexpr Denoyelle::Options kWhole{.window = 0};

// Page 1 has three samples in four; the slow run takes 300, the fast one 100.
const Trace kSlow = trace_of({{0, 1}, {100, 1}, {200, 2}, {300, 1}});
const Trace kFast = trace_of({{0, 1}, {50, 2}, {100, 1}});

TEST(Denoyelle, WeighsTheTwoTimesByTheSlowRunsSamples) {
  const Denoyelle estimate = of(kSlow, kFast, kWhole);
  ASSERT_EQ(estimate.pages().size(), 2u);
  EXPECT_EQ(estimate.pages()[0], 0x1000u);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 0}), 300);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 1}), 100);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 0}), 300 * 0.25 + 100 * 0.75);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 1}), 300 * 0.75 + 100 * 0.25);
}

TEST(Denoyelle, DividesFastTimeByTheFactor) {
  const Denoyelle estimate = of(kSlow, kFast, {.window = 0, .hbm_factor = 2});
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 0}), 300);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 0}), 300 * 0.25 + 50 * 0.75);
}

TEST(Denoyelle, LegacyCountsFastSamplesTheFactorTimes) {
  const Denoyelle estimate =
      of(kSlow, kFast, {.window = 0, .hbm_factor = 3, .legacy = true});
  // h = 3 * 1, d = 3.
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 1}), 300 - 200 * 0.5);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 1}), 100);
}

TEST(Denoyelle, LegacyLeavesWindowsThatGainLessThanThreePercent) {
  const Trace near = trace_of({{0, 1}, {295, 2}});
  EXPECT_DOUBLE_EQ(
      of(kSlow, near, {.window = 0, .legacy = true}).total_ns(Flags{1, 1}),
      300);
  EXPECT_DOUBLE_EQ(of(kSlow, near, kWhole).total_ns(Flags{1, 1}), 295);
}

// Two halves: the first gains on page 1, the second nothing.
TEST(Denoyelle, WindowsOfTimeAndOfSamplesAreSlicesOfEachRunsOwnLength) {
  Trace slow, fast;
  std::vector<At> s, f;
  for (Nanos i = 0; i <= 10; ++i) s.push_back({i * 1'000'000, i < 5 ? 1u : 2u});
  for (Nanos i = 0; i <= 10; ++i) f.push_back({i * 500'000, i < 5 ? 1u : 2u});
  slow = trace_of(s);
  fast = trace_of(f);
  for (const auto& options :
       {Denoyelle::Options{.unit = Unit::kMilliseconds, .window = 5},
        Denoyelle::Options{.unit = Unit::kAccesses, .window = 5}}) {
    const Denoyelle estimate = of(slow, fast, options);
    EXPECT_EQ(estimate.windows(), 2u);
    EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 0}), 10e6);
    EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 1}), 5e6);
    // The first window ends with its last sample, at 4 ms and 2 ms.
    EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 0}), 2e6 + 6e6);
  }
}

TEST(Denoyelle, MatchesPhasesBetweenMarksBeforeCutting) {
  Trace slow = trace_of({{0, 1}, {800, 1}, {900, 2}, {1000, 2}});
  Trace fast = trace_of({{0, 1}, {100, 1}, {200, 2}, {300, 2}});
  slow.marks = {{0, "start"}, {850, "solve"}, {1000, "end"}};
  fast.marks = {{0, "start"}, {150, "solve"}, {300, "end"}};
  const Denoyelle estimate = of(slow, fast, kWhole);
  EXPECT_EQ(estimate.windows(), 2u);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{1, 0}), 100 + 200);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0, 1}), 800 + 200);
}

TEST(Denoyelle, KeepsTheEndpointLossOfWindowsOfTime) {
  // The slow run has no sample in its second half but the last; the fast one
  // has all its samples there.
  const Trace slow = trace_of({{0, 1}, {1'000'000, 1}, {10'000'000, 1}});
  const Trace fast = trace_of(
      {{0, 1}, {2'600'000, 1}, {3'000'000, 1}, {4'000'000, 1}, {5'000'000, 1}});
  const Denoyelle estimate =
      of(slow, fast, {.unit = Unit::kMilliseconds, .window = 2.5});
  EXPECT_EQ(estimate.windows(), 4u);
  EXPECT_DOUBLE_EQ(estimate.total_ns(Flags{0}), 10e6);
  EXPECT_LT(estimate.total_ns(Flags{1}), 5e6);
}

TEST(Denoyelle, RefusesWhatItCannotUse) {
  const Trace none;
  const auto message = [](const Trace& slow, const Trace& fast,
                          const Denoyelle::Options& options) {
    const auto made = Denoyelle::from_pair(slow, fast, options);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message(none, kFast, {}), "the slow trace holds no samples");
  EXPECT_EQ(message(kSlow, none, {}), "the fast trace holds no samples");
  EXPECT_EQ(message(kSlow, kFast, {.window = -1}),
            "window must not be negative");
  EXPECT_EQ(message(kSlow, kFast, {.hbm_factor = 0}),
            "hbm_factor must be positive");
  EXPECT_EQ(message(kSlow, kFast, {.page_bits = 11}),
            "page_bits must be 12 to 30, not 11");
  Trace marked = kFast;
  marked.marks = {{60, "solve"}};
  EXPECT_EQ(message(kSlow, marked, {}),
            "the slow trace has 1 phases and the fast one 2");
  EXPECT_NE(message(kSlow, kFast, {.window = 1e-12}), "");
}

// The pages with the most samples, ties by first appearance.
std::vector<Address> hottest(const Trace& trace) {
  std::map<Address, std::pair<double, std::size_t>> seen;
  for (std::size_t i = 0; i < trace.samples.size(); ++i) {
    const Address page = trace.samples[i].address >> 12 << 12;
    seen.try_emplace(page, 0.0, i).first->second.first += 1;
  }
  std::vector<Address> pages;
  for (const auto& [page, unused] : seen) pages.push_back(page);
  std::sort(pages.begin(), pages.end(), [&](Address a, Address b) {
    const auto& [count_a, first_a] = seen[a];
    const auto& [count_b, first_b] = seen[b];
    return count_a != count_b ? count_a > count_b : first_a < first_b;
  });
  return pages;
}

// The values are of all samples, garbage included.
TEST(Denoyelle, LuleshGoldenValues) {
  const auto slow_path = knl_lulesh("ddr");
  const auto fast_path = knl_lulesh("mcdram");
  if (!exists(slow_path) || !exists(fast_path)) {
    GTEST_SKIP() << slow_path << " is not there; set THERMOCLINE_SHARED_DATA";
  }
  const Trace slow = read_knl(slow_path, "all_slow", /*garbage=*/true);
  const Trace fast = read_knl(fast_path, "all_fast", /*garbage=*/true);
  const Denoyelle estimate = of(slow, fast, kWhole);
  const auto pages = estimate.pages();
  const auto milliseconds = [&](const auto& in_fast) {
    Flags flags;
    for (const Address page : pages) flags.push_back(in_fast(page) ? 1 : 0);
    return std::llround(estimate.total_ns(flags) / 1e6);
  };
  const auto hot = hottest(slow);
  const auto among_hottest = [&](std::size_t percent) {
    std::map<Address, bool> chosen;
    for (std::size_t i = 0; i < pages.size() * percent / 100; ++i) {
      chosen[hot[i]] = true;
    }
    return [chosen](Address page) { return chosen.count(page) > 0; };
  };
  EXPECT_EQ(pages.size(), 5104u);
  EXPECT_EQ(milliseconds([](Address) { return false; }), 24'088);
  EXPECT_EQ(milliseconds([](Address) { return true; }), 14'291);
  EXPECT_EQ(milliseconds([](Address page) { return (page >> 12) % 100 < 50; }),
            19'392);
  EXPECT_EQ(milliseconds(among_hottest(10)), 19'348);
  EXPECT_EQ(milliseconds(among_hottest(50)), 15'524);
  EXPECT_EQ(milliseconds(
                [&](Address page) { return page < pages[pages.size() / 2]; }),
            19'890);
  // Any sane way of cutting agrees within 1 % here.
  for (const auto& options :
       {Denoyelle::Options{.unit = Unit::kMilliseconds, .window = 50},
        Denoyelle::Options{.unit = Unit::kAccesses, .window = 3526},
        Denoyelle::Options{.window = 0, .legacy = true}}) {
    const Denoyelle other = of(slow, fast, options);
    Flags flags;
    for (const Address page : other.pages()) {
      flags.push_back((page >> 12) % 100 < 50 ? 1 : 0);
    }
    EXPECT_NEAR(other.total_ns(flags) / 1e6, 19'392, 194);
  }
}

}  // namespace
}  // namespace thermocline
