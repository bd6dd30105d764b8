// thermocline report, from the outside: its data, its refusals, and its page
// in a browser.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/daemon/child_on_terminal.h"
#include "tests/daemon/recorded_jobs.h"

namespace thermocline {
namespace {

using nlohmann::json;

class Report : public RecordedJobs {
 protected:
  json data(Words words) const {
    words.insert(words.begin(), "report");
    words.insert(words.end(), {"--json", "--quiet"});
    const auto ran = run(words);
    EXPECT_EQ(ran.status, 0) << ran.output;
    return json::parse(ran.output, nullptr, false);
  }
  // The page of these traces, and what a browser finds wrong with it.
  void expect_good_page(const Words& words) const {
    const std::string page = scratch / "page.html";
    const std::string file = scratch / "page.json";
    Words report{"report", "-o", page, "--force", "--quiet"};
    report.insert(report.end(), words.begin(), words.end());
    const auto ran = run(report);
    ASSERT_EQ(ran.status, 0) << ran.output;
    std::ofstream(file) << data(words).dump();
    Child browser(
        {"/usr/bin/python3", "tests/daemon/page_check.py", page, file});
    EXPECT_EQ(browser.wait(), 0) << browser.output();
    EXPECT_EQ(browser.output(), "");
  }
  // Of objects in regions of their own, so that fast memory holds a part.
  Words pair() const {
    SyntheticJob job;
    job.objects = 32;
    job.machine.tiers[0].read_ns = job.machine.tiers[0].write_ns = 80;
    job.machine.tiers[1].read_ns = job.machine.tiers[1].write_ns = 300;
    job.phases = {{1000000,
                   {{0, 2000, 0},
                    {6, 6000, 0},
                    {12, 1000, 500},
                    {18, 300, 0},
                    {25, 4000, 0}}}};
    return {write("slow.trace", job.run("all_slow", {400'000'000})),
            write("fast.trace", job.run("all_fast", {100'000'000}))};
  }
};

const Words kFew = {"--policies", "all_slow,first_touch,hottest_first,next_use",
                    "--fast-share", "0.2,0.5,0.8"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Report, ItsTimesAreThoseOfEvaluate) {
  for (const Words& traces : {Words{chain()}, pair()}) {
    const json out = data(with(traces, kFew));
    auto words = with(with({"evaluate"}, traces), kFew);
    const auto ran = run(with(words, {"--json", "--quiet"}));
    const json job = json::parse(ran.output, nullptr, false)["jobs"][0];
    for (const char* key : {"all_fast_ns", "all_slow_ns", "peak_bytes"}) {
      EXPECT_EQ(out["what_if"][key], job[key]) << key;
    }
    for (std::size_t s = 0; s < 3; ++s) {
      const json& here = out["what_if"]["shares"][s];
      EXPECT_EQ(here["bound_ns"], job["shares"][s]["bound_ns"]);
      ASSERT_EQ(here["policies"].size(), 4u);
      for (std::size_t p = 0; p < 4; ++p) {
        const json& row = here["policies"][p];
        EXPECT_EQ(row["time_ns"], job["shares"][s]["policies"][p]["time_ns"]);
      }
    }
  }
}

TEST_F(Report, WhatLiesInFastMemoryFitsAndMovesAddUp) {
  for (const Words& traces : {Words{chain()}, pair()}) {
    const json out = data(with(traces, kFew));
    for (const json& share : out["what_if"]["shares"]) {
      for (const json& row : share["policies"]) {
        const json& moves = row["moves"];
        double moved = 0;
        for (std::size_t i = 0; i < moves["fast_bytes"].size(); ++i) {
          EXPECT_LE(moves["fast_bytes"][i], share["fast_bytes"]) << row;
          EXPECT_GE(moves["fast_bytes"][i], 0) << row;
          moved += moves["to_fast_bytes"][i].get<double>() +
                   moves["from_fast_bytes"][i].get<double>();
        }
        // Of two tiers every move is into the fast one or out of it. Online,
        // a job of tensors need not move the same in each step.
        if (out["what_if"]["kind"] == "tensors" && !row["planned"]) continue;
        EXPECT_NEAR(moved, row["moved_bytes"].get<double>(), 1)
            << row["policy"] << share["fast_share"];
      }
    }
  }
}

TEST_F(Report, BarsNeedBothEndpointsAndSayWhyThereAreNone) {
  const json both = data(with(pair(), kFew))["what_if"];
  EXPECT_TRUE(both["slow_measured"]);
  EXPECT_TRUE(both["fast_measured"]);
  for (const json& share : both["shares"]) {
    EXPECT_EQ(share["policies"][0]["policy"], "all_slow");
    EXPECT_EQ(share["policies"][0]["error_ns"], 0.0);
    EXPECT_GT(share["policies"][2]["error_ns"], 0.0);
  }
  const json one =
      data(with({pages("all_fast", 100'000'000)}, kFew))["what_if"];
  EXPECT_FALSE(one["slow_measured"]);
  EXPECT_TRUE(one["shares"][0]["policies"][0]["error_ns"].is_null());
  EXPECT_NE(one["error_bars"].get<std::string>().find("all_slow"),
            std::string::npos);
  const json step = data(with({chain()}, kFew))["what_if"];
  EXPECT_TRUE(step["shares"][0]["policies"][0]["error_ns"].is_null());
  EXPECT_NE(step["error_bars"].get<std::string>().find("none"),
            std::string::npos);
}

TEST_F(Report, TheObjectsThatGainMostComeFirst) {
  const json step = data(with({chain()}, kFew));
  ASSERT_FALSE(step["objects"]["objects"].empty());
  double before = 1e30;
  double sum = 0;
  for (const json& one : step["objects"]["objects"]) {
    EXPECT_LE(one["gain_ns"], before);
    before = one["gain_ns"];
    sum += before;
  }
  // A chain's operators add up.
  const json& what_if = step["what_if"];
  EXPECT_NEAR(sum,
              what_if["all_slow_ns"].get<double>() -
                  what_if["all_fast_ns"].get<double>(),
              0.01 * sum);
  const json run = data(with(pair(), kFew));
  EXPECT_NEAR(run["objects"]["gain_ns"], 300'000'000, 3'000'000);
}

TEST_F(Report, WhatIsNotKnownIsSaidAndTheRestIsShown) {
  const json out = data({small_trace()});
  EXPECT_NE(out["what_if"]["missing"].get<std::string>().find("--machine"),
            std::string::npos)
      << out["what_if"];
  EXPECT_TRUE(out["machine"].is_null());
  EXPECT_EQ(out["runs"][0]["samples"], 1000);
  EXPECT_EQ(out["timeline"]["heat"]["address"]["rows"][0]["accesses"], 3000);
}

TEST_F(Report, WhatItCannotShowItRefuses) {
  const std::string trace = chain();
  const std::string page = scratch / "page.html";
  std::ofstream(page) << "mine";
  expect_refused({"report", trace, "-o", page}, {page, "--force"});
  EXPECT_EQ(slurp(page), "mine");
  expect_refused({"report", trace, "-o", trace, "--force"}, {trace, "another"},
                 2);
  expect_refused({"report", trace, trace, trace}, {"one job"}, 2);
  const std::string fast = pages("all_fast", 100'000'000);
  const std::string other = scratch / "other.html";
  expect_refused({"report", trace, fast, "-o", other}, {trace, fast, "job"});
  expect_refused({"report", fast, fast, "-o", other}, {fast, "all_slow"});
  expect_refused({"report", trace, "-o", scratch / "no/page.html"},
                 {"no/page.html"});
  expect_refused({"report", scratch / "none.trace", "-o", other},
                 {"none.trace"});
}

TEST_F(Report, AStoppedOneShowsWhatWasDone) {
  const std::string trace = chain();
  const std::string page = scratch / "page.html";
  ChildOnTerminal child({THERMOCLINE, "report", trace, "-o", page, "--policies",
                         "first_touch,hottest_first", "--steps", "100000"});
  ASSERT_TRUE(child.said("first_touch")) << child.output();
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 130);
  EXPECT_NE(child.output().find("stopped"), std::string::npos)
      << child.output();
  EXPECT_NE(slurp(page).find("\"complete\":false"), std::string::npos);
}

TEST_F(Report, TenMinutesFitInTwoMegabytes) {
  Trace trace;
  trace.info.command = {"long"};
  trace.mappings = {{0, 0x100000000, 0x200000000, "rw-p", "[heap]"}};
  Sample sample;
  std::uint64_t state = 1;
  for (int i = 0; i < 400'000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    sample.time = Nanos{i} * 1'500'000;
    sample.address = 0x100000000 + (state >> 32) / 4;
    sample.access = state % 3 == 0 ? Access::kStore : Access::kLoad;
    sample.period = static_cast<std::uint32_t>(1 + state % 100'000);
    trace.samples.push_back(sample);
  }
  for (ObjectId serial = 1; serial <= 20'000; ++serial) {
    trace.tensors.push_back({serial, 0x100000000 + Address{serial} * 50'000,
                             40'000, Nanos{serial} * 30'000'000, -1,
                             "a label of some length, as layers have them"});
  }
  trace.end = {true, 0, Nanos{600} * 1'000'000'000};
  const std::string file = write("long.trace", trace);
  const std::string page = scratch / "page.html";
  const auto ran = run({"report", file, "-o", page, "--quiet"});
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_LT(std::filesystem::file_size(page), 2'000'000u);
}

TEST_F(Report, ThePageOfAPairIsGoodInABrowser) {
  expect_good_page(with(pair(), kFew));
}

TEST_F(Report, ThePageOfATensorJobIsGoodWhateverItsNames) {
  const std::string evil = "</script><script>window.evil = 1</script>";
  ChainJob job;
  Trace trace = job.trace();
  trace.info.command = {evil, "<img src=x onerror=evil=1>", "\xff\xfe"};
  for (Tensor& tensor : trace.tensors) tensor.label = evil;
  expect_good_page(with({write("evil.trace", trace)}, kFew));
}

TEST_F(Report, APageWithoutFiguresSaysSoInABrowser) {
  Trace empty;
  empty.info.command = {"true"};
  empty.end = {true, 0, 1000};
  expect_good_page({write("empty.trace", empty)});
}

}  // namespace
}  // namespace thermocline
