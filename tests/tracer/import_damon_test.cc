#include <gtest/gtest.h>

#include "tests/tracer/import_bytes.h"

namespace thermocline {
namespace {

// As damo writes it: times in digits, other numbers with commas, and -1 in the
// last snapshot that it makes up.
constexpr const char* kJson = R"([{
  "kdamond_idx": 0, "context_idx": 0,
  "intervals": {"sample_us": "5 ms", "aggr_us": "100 ms"},
  "target_id": 0,
  "snapshots": [
    {"start_time": "900000000", "end_time": "1000000000", "regions": [
      {"start": "4,096", "end": "45,056",
       "nr_accesses": {"samples": 20, "percent": 100},
       "age": {"usec": null, "aggr_intervals": 3}},
      {"start": "45,056", "end": "1,048,576",
       "nr_accesses": {"samples": 0, "percent": 0},
       "age": {"usec": null, "aggr_intervals": 9}}]},
    {"start_time": "1 s", "end_time": "1 s 100 ms", "regions": [
      {"start": "65,536", "end": "1,114,112",
       "nr_accesses": {"samples": "3", "percent": 15},
       "age": {"usec": null, "aggr_intervals": 0}}]},
    {"start_time": 1100000000, "end_time": 1200000000, "regions": [
      {"start": 0, "end": 0, "nr_accesses": {"samples": -1},
       "age": {"aggr_intervals": -1}}]}]}])";

std::uint64_t weight(const std::vector<Sample>& samples, Nanos time) {
  std::uint64_t sum = 0;
  for (const auto& sample : samples) {
    if (sample.time == time) sum += sample.period;
  }
  return sum;
}

TEST(ImportDamon, RegionsBecomeSamplesOfTheSameWeight) {
  const auto imported = import_text(kJson);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "damon");
  const auto& samples = imported->trace.samples;
  // 10 pages, each its own point; then 256 pages in 16.
  ASSERT_EQ(samples.size(), 26u);
  EXPECT_EQ(weight(samples, 1'000'000'000), 20u * 10);
  EXPECT_EQ(weight(samples, 1'100'000'000), 3u * 256);
  EXPECT_EQ(samples[0].address, 0x1000u);
  EXPECT_EQ(samples[9].address, 0xa000u);
  EXPECT_EQ(samples[10].address, 65536u + 8 * 4096);
  EXPECT_EQ(samples[25].address, 65536u + (15 * 16 + 8) * 4096);
  EXPECT_EQ(imported->trace.run_ns(), 100'000'000);
}

TEST(ImportDamon, TheTracepointsText) {
  const std::string text =
      "kdamond.0  4452 [000] 82877.315633: damon:damon_aggregated: "
      "target_id=18446623435582458880 nr_regions=17 "
      "140731667070976-140731667079168: 5 3\n"
      "kdamond.0  4452 [000] 82877.415633: damon:damon_aggregated: "
      "target_id=7 nr_regions=17 4096-8192: 2\n";
  const auto imported = import_text(text);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "damon");
  const auto& samples = imported->trace.samples;
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].address, 140731667070976u);
  EXPECT_EQ(samples[0].time, 82'877'315'633'000);
  EXPECT_EQ(samples[0].period, 5u);
  EXPECT_EQ(samples[2].thread, 1u) << "the second target";
  expect_error(import_text(text + "k 1 [0] 1.000000: damon:damon_aggregated: "
                                  "target_id=7 nr_regi"),
               {"line 3", "cut or malformed"});
}

TEST(ImportDamon, RefusesWhatIsNoRecord) {
  const std::string json = kJson;
  expect_error(import_text(json.substr(0, json.size() / 2)),
               {"offset", "the JSON is cut"});
  expect_error(import_text(R"([{"snapshots": [{"regions": []}]}])"),
               {"offset", "end_time"});
  expect_error(
      import_text(R"([{"snapshots": [{"end_time": "x", "regions": []}]}])"),
      {"end_time"});
  expect_error(import_text(R"([{"snapshots": [{"end_time": 1, "regions":
                   [{"start": 9000, "end": 1, "nr_accesses": 1}]}]}])"),
               {"ends before it starts"});
  expect_error(import_text(R"({"snapshots": [], "regions": 0})"),
               {"no region", "damo record"});
  expect_error(import_text("damon_recfmt_ver\2\0\0\0"),
               {"old binary", "convert_record_format"});
}

TEST(ImportDamon, DeepAndWideJsonIsRefused) {
  std::string deep = R"([{"snapshots": [)";
  expect_error(
      import_text(deep + std::string(100'000, '['), as_format("damon")),
      {"offset", "nested more than 64 deep"});
  std::string wide = R"([{"snapshots": [[0)";
  for (int i = 0; i < 2'100'000; ++i) wide += ",0";
  expect_error(import_text(wide, as_format("damon")),
               {"offset", "more than 2000000 values"});
  expect_error(
      import_text(deep + "\"" + std::string(17 << 20, 'x'), as_format("damon")),
      {"offset", "bytes"});
}

}  // namespace
}  // namespace thermocline
