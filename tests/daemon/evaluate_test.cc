// thermocline evaluate, from the outside, on jobs whose times are known.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/daemon/child_on_terminal.h"
#include "tests/daemon/recorded_jobs.h"

namespace thermocline {
namespace {

using nlohmann::json;

class Evaluate : public RecordedJobs {
 protected:
  json answer(Words words) const {
    words.insert(words.begin(), "evaluate");
    words.insert(words.end(), {"--json", "--quiet"});
    const auto ran = run(words);
    EXPECT_EQ(ran.status, 0) << ran.output;
    return json::parse(ran.output, nullptr, false);
  }
};

TEST_F(Evaluate, TensorJobsByPolicyAndShare) {
  const json out = answer({chain(), "--fast-share", "0.2..0.4", "--policies",
                           "all_slow,first_touch,hottest_first"});
  ASSERT_TRUE(out.is_object()) << out;
  EXPECT_TRUE(out["complete"]);
  const json& job = out["jobs"][0];
  EXPECT_EQ(job["kind"], "tensors");
  EXPECT_EQ(job["operators"], 13);
  EXPECT_NEAR(job["all_fast_ns"], 650'000, 1e-3);
  ASSERT_EQ(job["shares"].size(), 3u);
  EXPECT_EQ(job["shares"][1]["fast_share"], 0.3);
  for (const json& share : job["shares"]) {
    const json& rows = share["policies"];
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_NEAR(rows[0]["time_ns"], job["all_slow_ns"].get<double>(), 1e-3);
    EXPECT_LT(rows[0]["gap_closed"], 0.0);
    EXPECT_EQ(rows[1]["gap_closed"], 0.0);
    EXPECT_LE(share["bound_ns"], share["static_bound_ns"]);
    for (const json& row : rows) EXPECT_GE(row["time_ns"], share["bound_ns"]);
  }
}

TEST_F(Evaluate, PageJobsHaveTheSameColumns) {
  const json out =
      answer({pages("all_slow", 400'000'000), pages("all_fast", 100'000'000),
              "--fast-share", "0.5", "--policies", "all"});
  const json& job = out["jobs"][0];
  EXPECT_EQ(job["kind"], "pages");
  EXPECT_EQ(job["all_slow_ns"], 400'000'000);
  const json& share = job["shares"][0];
  EXPECT_GE(share["policies"].size(), 4u);
  EXPECT_LE(share["bound_ns"], share["static_bound_ns"]);
  for (const json& row : share["policies"]) {
    ASSERT_FALSE(row.contains("error")) << row;
    EXPECT_GE(row["time_ns"].get<double>(), share["bound_ns"].get<double>());
    EXPECT_GT(row["decisions"], 0);
  }
}

TEST_F(Evaluate, AJobMayGoOnForLonger) {
  const std::vector<std::string> once = {pages("all_slow", 400'000'000),
                                         pages("all_fast", 100'000'000),
                                         "--fast-share",
                                         "0.5",
                                         "--policies",
                                         "first_touch,hottest_first"};
  auto five = once;
  five.insert(five.end(), {"--repeat", "5"});
  const json out = answer(five);
  const json& job = out["jobs"][0];
  EXPECT_EQ(job["all_slow_ns"], 5 * 400'000'000LL);
  EXPECT_NE(out["notes"].dump().find("5 times as long"), std::string::npos);
  const json first = answer(once)["jobs"][0]["shares"][0];
  const json& share = job["shares"][0];
  // What never moves takes as long each time, but for the first touches.
  EXPECT_NEAR(share["policies"][0]["time_ns"].get<double>(),
              5 * first["policies"][0]["time_ns"].get<double>(), 2e8);
  for (const json& row : share["policies"]) {
    EXPECT_GE(row["time_ns"], share["paid_bound_ns"]);
  }
  // A bound of the long run is no more than that of the short one, repeated
  // (but for going back to the start).
  EXPECT_LE(share["bound_ns"].get<double>(),
            5 * first["bound_ns"].get<double>() * 1.001);

  const json tensors = answer({chain(), "--fast-share", "0.5", "--policies",
                               "first_touch", "--repeat", "5"});
  EXPECT_NE(tensors["notes"].dump().find("changes nothing"), std::string::npos);
}

// Who decided, where it was another; what is not as a user would think.
TEST_F(Evaluate, NotesSayWhatIsNotAsMeant) {
  const auto notes = [](const json& out) {
    return out["jobs"][0]["shares"][0].dump();
  };
  const std::string slow = pages("all_slow", 400'000'000);
  const std::string fast = pages("all_fast", 100'000'000);
  const std::string planner = notes(
      answer({slow, fast, "--fast-share", "0.5", "--policies", "sentinel"}));
  EXPECT_NE(planner.find("hottest_first decided"), std::string::npos)
      << planner;
  const std::string nobody =
      R"({"external": {"endpoint": "ipc://)" + (scratch / "nobody") + R"("}})";
  const std::string alone =
      notes(answer({slow, fast, "--fast-share", "0.5", "--policies", "external",
                    "--options", nobody}));
  EXPECT_NE(alone.find("its fallback decided"), std::string::npos) << alone;
  EXPECT_NE(alone.find("no program listens"), std::string::npos) << alone;
  const std::string large = notes(
      answer({chain(), "--fast-share", "0.05", "--policies", "first_touch"}));
  EXPECT_NE(large.find("larger than fast memory"), std::string::npos) << large;
  const std::string small = notes(
      answer({chain(), "--fast-share", "0.5", "--policies", "first_touch"}));
  EXPECT_EQ(small.find("larger than"), std::string::npos) << small;
}

TEST_F(Evaluate, ARangeOfSharesHasBothItsEnds) {
  const json out = answer(
      {chain(), "--fast-share", "0.1..0.25", "--policies", "first_touch"});
  ASSERT_EQ(out["jobs"][0]["shares"].size(), 3u);
  EXPECT_EQ(out["jobs"][0]["shares"][2]["fast_share"], 0.25);
}

// What ships is of the policies there are.
TEST_F(Evaluate, ShippedOptionsAreTakenBesideTheDefaults) {
  const json out =
      answer({pages("all_slow", 400'000'000), pages("all_fast", 100'000'000),
              "--fast-share", "0.5", "--policies",
              "histogram,recency_frequency", "--tuned", "policies/tuned.json"});
  const json& rows = out["jobs"][0]["shares"][0]["policies"];
  ASSERT_EQ(rows.size(), 4u) << out;
  EXPECT_EQ(rows[1]["variant"], "tuned");
}

TEST_F(Evaluate, TablesAreForPeople) {
  const auto ran = run({"evaluate", chain(), "--fast-share", "0.5"});
  EXPECT_EQ(ran.status, 0) << ran.output;
  for (const char* word : {"chain.trace: fast memory holds 50 %", "gap closed",
                           "hottest_first", "[bound]", "[all_fast]"}) {
    EXPECT_NE(ran.output.find(word), std::string::npos) << word << ran.output;
  }
}

TEST_F(Evaluate, ItIsStoppedWithATableOfWhatWasDone) {
  const std::string trace = chain();
  ChildOnTerminal child({THERMOCLINE, "evaluate", trace, "--fast-share", "0.5",
                         "--policies", "first_touch", "--steps", "100000"});
  ASSERT_TRUE(child.said("first_touch")) << child.output();
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 130);
  EXPECT_NE(child.output().find("[bound]"), std::string::npos)
      << child.output();
  EXPECT_NE(child.output().find("stopped"), std::string::npos);
}

TEST_F(Evaluate, ExternalIsLeftOutOfAllAndSaysSo) {
  const json out = answer(
      {chain(), "--fast-share", "0.5", "--policies", "all", "--steps", "2"});
  bool said = false;
  for (const auto& note : out["notes"]) {
    said = said || note.get<std::string>().find("external is left out") == 0;
  }
  EXPECT_TRUE(said) << out["notes"];
  for (const json& row : out["jobs"][0]["shares"][0]["policies"]) {
    EXPECT_NE(row["policy"], "external");
  }
}

TEST_F(Evaluate, TunedVariantsStandBesideTheirPolicies) {
  ChainJob other;
  other.layers = 6;
  const std::string training = write("training.trace", other.trace());
  const std::string tuned = scratch / "tuned.json";
  const auto ran = run({"tune", training, "-o", tuned, "--fast-share", "0.4",
                        "--policies", "interleave,first_touch", "--quiet"});
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("interleave"), std::string::npos) << ran.output;
  const json out = answer({chain(), "--fast-share", "0.4", "--policies",
                           "first_touch,interleave", "--tuned", tuned});
  const json& rows = out["jobs"][0]["shares"][0]["policies"];
  ASSERT_EQ(rows.size(), 3u) << rows;
  EXPECT_FALSE(rows[1].contains("variant"));
  EXPECT_EQ(rows[2]["policy"], "interleave");
  EXPECT_EQ(rows[2]["variant"], "tuned");
  EXPECT_TRUE(rows[2]["options"].is_object());

  // What it was tuned on is no test of it, under whatever name.
  const std::string copy = write("copy.trace", other.trace());
  expect_refused({"evaluate", training, "--tuned", tuned},
                 {"tuned.json", "training.trace"}, 2);
  expect_refused({"evaluate", copy, "--tuned", tuned},
                 {"tuned.json", "copy.trace", "training.trace"}, 2);
  expect_refused(
      {"evaluate", chain(), "--policies", "all_slow", "--tuned", tuned},
      {"tuned.json", "none of the policies"}, 2);
  expect_refused({"evaluate", chain(), "--tuned", training},
                 {"training.trace", "thermocline tune"}, 2);
  expect_refused(
      {"run", "--tuned", tuned, "--policy", "histogram", "--", "true"},
      {"tuned.json", "histogram"}, 2);
}

TEST_F(Evaluate, TuningThatIsStoppedKeepsWhatWasDone) {
  const std::string trace = chain();
  const std::string tuned = scratch / "tuned.json";
  ChildOnTerminal child({THERMOCLINE, "tune", trace, "-o", tuned, "--policies",
                         "interleave", "--steps", "100000"});
  ASSERT_TRUE(child.said("interleave")) << child.output();
  child.signal(SIGINT);
  EXPECT_EQ(child.wait(), 130);
  EXPECT_NE(child.output().find("stopped"), std::string::npos)
      << child.output();
  std::ifstream in(tuned);
  const json out = json::parse(in, nullptr, false);
  ASSERT_TRUE(out.is_object());
  EXPECT_EQ(out["complete"], false);
}

TEST_F(Evaluate, NothingToTuneIsSaid) {
  const std::string trace = chain();
  expect_refused(
      {"tune", trace, "-o", scratch / "t.json", "--policies", "all_slow"},
      {"grid"});
  expect_refused(
      {"tune", pages("all_slow", 400'000'000), pages("all_fast", 100'000'000),
       "-o", scratch / "t.json", "--policies", "sentinel"},
      {"grid", "planners"});
}

TEST_F(Evaluate, RefusesWhatItCannotUse) {
  const std::string trace = chain();
  expect_refused({"evaluate", trace, "--policies", "warmest"},
                 {"warmest", "first_touch"}, 2);
  expect_refused({"evaluate", trace, "--fast-share", "2"}, {"--fast-share 2"},
                 2);
  expect_refused({"evaluate", trace, "--fast-share", "0.5..0.1"}, {"0.5..0.1"},
                 2);
  expect_refused({"evaluate", trace, "--options", "{"}, {"--options"}, 2);
  expect_refused({"evaluate", trace, "--alignment", "3"}, {"power of two"}, 2);
  expect_refused({"evaluate", trace, "--policies", "all_slow", "--options",
                  R"({"first_touch": {}})"},
                 {"first_touch", "not among"}, 2);
  expect_refused(
      {"evaluate", trace, "--options", R"({"hottest_first": {"fill": 7}})"},
      {"hottest_first", "fill"}, 2);
  expect_refused({"evaluate", scratch / "none.trace"}, {"none.trace"});
  expect_refused({"evaluate", trace, "--pages"}, {"chain.trace", "no samples"});
  Trace unknown = ChainJob().trace();
  unknown.info.machine.clear();
  expect_refused({"evaluate", write("bare.trace", unknown)},
                 {"bare.trace", "--machine"});
}

}  // namespace
}  // namespace thermocline
