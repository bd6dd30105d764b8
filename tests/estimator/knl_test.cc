// The differential estimate on the runs that it was published with.
#include "tests/estimator/knl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>

#include "estimator/differential.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

namespace fs = std::filesystem;

TEST(Knl, LuleshEndpointsAreExactAndHalvesLieBetween) {
  const fs::path slow_path = knl_lulesh("ddr");
  const fs::path fast_path = knl_lulesh("mcdram");
  if (!fs::exists(slow_path) || !fs::exists(fast_path)) {
    GTEST_SKIP() << slow_path << " is not there; set THERMOCLINE_SHARED_DATA";
  }
  const Trace slow = read_knl(slow_path, "all_slow");
  const Trace fast = read_knl(fast_path, "all_fast");
  ASSERT_GT(slow.samples.size(), 350'000u);
  ASSERT_GT(fast.samples.size(), 300'000u);
  for (const std::int64_t windows : {1, 100, 480, 2000}) {
    const auto both = Differential::from_pair(slow, fast, {windows, 4096});
    ASSERT_TRUE(both) << both.error().message;
    const auto all = [&](TierId tier) {
      return std::vector<TierId>(both->objects().size(), tier);
    };
    EXPECT_EQ(both->total_ns(all(1)), static_cast<double>(slow.run_ns()));
    EXPECT_EQ(both->total_ns(all(0)), static_cast<double>(fast.run_ns()));
    EXPECT_EQ(std::llround(both->slow_ns() / 1e6), 24'088);
    EXPECT_EQ(std::llround(both->fast_ns() / 1e6), 14'291);
    // Every second half-hundred of pages in MCDRAM: 19,392 ms by the published
    // formula at one window with the DDR run's weights; the two runs' weights
    // are known to differ by up to 4 % of an estimate.
    std::vector<TierId> half = all(1);
    for (std::size_t i = 0; i < half.size(); ++i) {
      if ((both->objects()[i].start >> 12) % 100 < 50) half[i] = 0;
    }
    EXPECT_NEAR(both->total_ns(half) / 1e6, 19'392, 0.04 * 19'392);
    RecordProperty("half_ms_" + std::to_string(windows),
                   std::to_string(both->total_ns(half) / 1e6));
  }
}

// Every hundredth sample of a trace.
Trace thinned(Trace trace) {
  std::size_t i = 0;
  std::erase_if(trace.samples, [&](const Sample&) { return i++ % 100 != 0; });
  return trace;
}

// Where pages are chosen by what the full traces counted, the thinned ones take
// most of their heat for luck (smoothing.h): that costs more than 1 %, and must
// stay within what the two runs' own page weights are known to differ by, 4 %.
TEST(Knl, AHundredthOfTheSamplesGivesLuleshTheSameEstimates) {
  const fs::path slow_path = knl_lulesh("ddr");
  const fs::path fast_path = knl_lulesh("mcdram");
  if (!fs::exists(slow_path) || !fs::exists(fast_path)) {
    GTEST_SKIP() << slow_path << " is not there; set THERMOCLINE_SHARED_DATA";
  }
  const Trace slow = read_knl(slow_path, "all_slow");
  const Trace fast = read_knl(fast_path, "all_fast");
  const auto all = Differential::from_pair(slow, fast, {100, 4096});
  const auto few =
      Differential::from_pair(thinned(slow), thinned(fast), {100, 4096});
  ASSERT_TRUE(all && few);
  ASSERT_EQ(all->objects().size(), few->objects().size());
  const auto pages = all->objects().size();
  std::vector<double> touched(pages, 0);  // by the full traces
  for (std::size_t w = 0; w < all->windows(); ++w) {
    for (const auto& one : all->accesses(w)) touched[one.object] += one.loads;
  }
  std::vector<std::size_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return touched[a] > touched[b]; });
  std::vector<std::size_t> rank(pages);
  for (std::size_t i = 0; i < pages; ++i) rank[order[i]] = i;
  const auto page = [&](std::size_t o) {
    return all->objects()[o].start >> 12;
  };
  const std::pair<const char*, std::function<bool(std::size_t)>> kinds[] = {
      {"percent_20", [&](auto o) { return page(o) % 100 < 20; }},
      {"percent_50", [&](auto o) { return page(o) % 100 < 50; }},
      {"percent_80", [&](auto o) { return page(o) % 100 < 80; }},
      {"low_half", [&](auto o) { return o < pages / 2; }},
      {"high_quarter", [&](auto o) { return o >= pages * 3 / 4; }},
      {"hot_10", [&](auto o) { return rank[o] < pages / 10; }},
      {"hot_50", [&](auto o) { return rank[o] < pages / 2; }}};
  for (const auto& [name, is_fast] : kinds) {
    std::vector<TierId> tiers(pages);
    for (std::size_t o = 0; o < pages; ++o) tiers[o] = is_fast(o) ? 0 : 1;
    const double change = few->total_ns(tiers) / all->total_ns(tiers) - 1;
    const bool by_heat = std::string(name).starts_with("hot");
    EXPECT_LE(std::abs(change), by_heat ? 0.04 : 0.01) << name;
    RecordProperty(name, std::to_string(change));
    std::printf("%s: %+.2f %%\n", name, 100 * change);
  }
}

TEST(Knl, LuleshTakesAtMostEightBytesASampleOnDisk) {
  const fs::path from = knl_lulesh("ddr");
  if (!fs::exists(from)) {
    GTEST_SKIP() << from << " is not there; set THERMOCLINE_SHARED_DATA";
  }
  const auto samples = read_knl(from, "all_slow").samples;
  const auto to = fs::temp_directory_path() /
                  ("knl_test." + std::to_string(getpid()) + ".trace");
  auto writer = TraceWriter::create(to, {}, true);
  ASSERT_TRUE(writer) << writer.error().message;
  for (const auto& sample : samples) writer->add(sample);
  EXPECT_TRUE(writer->finish({true, 0, 1}));
  const auto read = read_trace(to);
  fs::remove(to);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace.samples, samples);
  EXPECT_LE(read->file_bytes, 8 * samples.size());
}

}  // namespace
}  // namespace thermocline
