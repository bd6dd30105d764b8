// thermocline estimate, from the outside, on jobs whose times are known.
#include "tests/daemon/estimated_job.h"

namespace thermocline {
namespace {

using nlohmann::json;

TEST_F(Estimate, OneObjectInFastMemoryByPhaseAndObject) {
  const auto out =
      answer(placed(R"({"objects": {")" + name_of(0) + R"(": "fast"}})"));
  EXPECT_EQ(out["slow"]["ns"], 800000000.0);
  EXPECT_EQ(out["fast"]["ns"], 200000000.0);
  EXPECT_EQ(out["modelled"], false);
  ASSERT_EQ(out["estimates"].size(), 1U);
  const auto& one = out["estimates"][0];
  EXPECT_NEAR(one["ns"], 600e6, 1e6);
  EXPECT_GT(one["error_ns"], 0.0);
  EXPECT_EQ(one["bytes"]["fast"], kRegion);
  ASSERT_EQ(one["phases"].size(), 2U);
  EXPECT_EQ(one["phases"][1]["name"], "phase");
  EXPECT_NEAR(one["phases"][0]["ns"], 100e6, 1e6);
  EXPECT_NEAR(one["phases"][1]["ns"], 500e6, 1e6);
  double sum = out["fast"]["ns"];
  for (const auto& object : one["objects"]) {
    sum += object["cost_ns"].get<double>();
  }
  EXPECT_NEAR(sum - one["overlap_ns"].get<double>(), one["ns"], 10);
}

TEST_F(Estimate, EndpointsAreExactAndNotModelled) {
  const auto out = answer(of_pair({"--sweep", "fast=0..100%"}));
  const auto& rows = out["estimates"];
  ASSERT_EQ(rows.size(), 11U);
  EXPECT_EQ(rows[0]["ns"], 800000000.0);
  EXPECT_EQ(rows[0]["modelled_ns"], 0.0);
  EXPECT_EQ(rows[0]["error_ns"], 0.0) << "it was measured";
  EXPECT_EQ(rows[10]["ns"], 200000000.0);
  EXPECT_EQ(rows[10]["modelled_ns"], 0.0);
  const Bytes all = out["memory_bytes"];
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i]["ns"], rows[i - 1]["ns"]);
    EXPECT_LE(rows[i]["bytes"]["fast"], all * i / 10);
  }
  // The hotter object first: half of the memory takes its phase's time away.
  EXPECT_NEAR(rows[5]["ns"], 400e6, 4e6);
  EXPECT_GT(rows[2]["modelled_ns"], 0.0);
  EXPECT_EQ(answer(of_pair({"--sweep", "fast=25..50%"}))["estimates"].size(),
            4U);
}

TEST_F(Estimate, TensorsByNameAndLabel) {
  Trace slow = this->slow();
  Trace fast = this->fast();
  const Nanos half = slow.start_ns() + 150000000;
  for (Trace* trace : {&slow, &fast}) {
    const Nanos born = trace->start_ns();
    trace->tensors = {
        {9, SyntheticJob::address(3), kRegion, born, -1, "parameter"},
        {7, SyntheticJob::address(0), kRegion, born, half, ""},
        {8, SyntheticJob::address(0), kRegion, half, -1, ""}};
    trace->sort();
  }
  Words words{"estimate",
              "--slow",
              write("s.trace", slow),
              "--fast",
              write("f.trace", fast),
              "--placement"};
  const auto with = [&](const std::string& text) {
    Words all = words;
    all.push_back(write("p.json", text));
    return all;
  };
  const auto out = answer(with(R"({"objects": {"tensor:7": "fast"}})"));
  EXPECT_NEAR(out["estimates"][0]["ns"], 600e6, 1e6);
  const auto& objects = out["estimates"][0]["objects"];
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["name"], "tensor:9");
  EXPECT_EQ(objects[0]["label"], "parameter");
  EXPECT_EQ(objects[0]["bytes"], kRegion);
  EXPECT_NEAR(objects[0]["cost_ns"], 400e6, 1e6);
  EXPECT_EQ(objects[1]["name"], "tensor:7");
  EXPECT_EQ(objects[1]["count"], 2);  // its memory was tensor 8's as well
  EXPECT_NEAR(objects[1]["cost_ns"], 0, 1);
  EXPECT_NEAR(objects[1]["slow_cost_ns"], 200e6, 1e6);
  EXPECT_NEAR(
      answer(with(R"({"objects": {"parameter": 0}})"))["estimates"][0]["ns"],
      400e6, 1e6);
  expect_refused(with(R"({"name": "x", "objects": {"tensor:99": "fast"}})"),
                 {"\"x\"", "\"tensor:99\"", "tensor:9", "parameter"});
}

TEST_F(Estimate, RangesAsTheTrialOfTheEstimatorWritesThem) {
  const auto start = std::to_string(SyntheticJob::address(0));
  const auto end = std::to_string(SyntheticJob::address(1));
  const auto out = answer(placed(
      R"([{"name": "a", "family": "f", "share": 0.5, "rest": 1, "ranges": [[)" +
      start + "," + end + R"(,0]]}, {"name": "b", "rest": "fast",
      "ranges": [[")" +
      "0x10000000" + R"(",)" + end + R"(, "slow"]]}])"));
  ASSERT_EQ(out["estimates"].size(), 2U);
  EXPECT_EQ(out["estimates"][0]["name"], "a");
  EXPECT_NEAR(out["estimates"][0]["ns"], 600e6, 1e6);
  EXPECT_NEAR(out["estimates"][1]["ns"], 400e6, 1e6);
}

TEST_F(Estimate, APolicyWithinTheCapacityOfTheMachine) {
  job_.machine.tiers[0].capacity = kRegion + 2 * 4096;
  const auto ns = [&](const std::string& policy) {
    const auto out = answer(of_pair({"--policy", policy}));
    const auto& one = out["estimates"][0];
    EXPECT_LE(one["bytes"]["fast"], job_.machine.tiers[0].capacity) << policy;
    return one["ns"].get<double>();
  };
  EXPECT_EQ(ns("all_slow"), 800e6);
  EXPECT_NEAR(ns("first_touch"), 600e6, 60e6);
  EXPECT_NEAR(ns("hottest_first"), 400e6, 40e6);
  job_.machine.tiers[0].capacity = 1 << 30;
  EXPECT_EQ(ns("all_fast"), 200e6);
  expect_refused(of_pair({"--policy", "coldest_first"}),
                 {"coldest_first", "hottest_first"}, 2);
  job_.machine.tiers[0].capacity = 0;
  expect_refused(of_pair({"--policy", "first_touch"}), {"fast", "--machine"});
  job_.machine.tiers[0].capacity = 1 << 30;
  job_.machine.tiers[1].capacity = 4096;
  expect_refused(of_pair({"--policy", "all_slow"}), {"slow", "4096"});
}

TEST_F(Estimate, OneTraceAloneIsSaidToBeModelled) {
  const auto path = write("slow.trace", slow());
  const Words words{"estimate", "--slow", path, "--sweep", "fast=100..100%"};
  const auto out = answer(words);
  EXPECT_EQ(out["modelled"], true);
  EXPECT_EQ(out["slow"]["measured"], true);
  EXPECT_EQ(out["fast"]["measured"], false);
  EXPECT_EQ(out["fast"]["trace"], nullptr);
  const auto& one = out["estimates"][0];
  EXPECT_EQ(one["ns"], out["fast"]["ns"]);
  EXPECT_NEAR(one["modelled_ns"], 800e6 - one["ns"].get<double>(), 1);
  EXPECT_NE(run(words).output.find("MODELLED"), std::string::npos);

  job_.machine.tiers[1].write_bytes_per_s = 0;
  write("slow.trace", slow());
  expect_refused(words, {"slow", "write_bytes_per_s", "--machine"});
  const auto machine = write("m.json", two_tiers().to_json());
  expect_refused({"estimate", "--slow", path, "--sweep", "fast=0..100%",
                  "--machine", machine},
                 {"read_ns", "both"});
  // Of a pair, they are not needed so much.
  const auto pair = answer(of_pair({"--sweep", "fast=0..100%"}));
  EXPECT_NE(pair["notes"].dump().find("write_bytes_per_s"), std::string::npos);
}

TEST_F(Estimate, RefusesWhatIsNoPairOfEndpoints) {
  const Words sweep{"--sweep", "fast=0..100%"};
  const auto good = of_pair(sweep);
  const auto with = [&](const std::string& option, const std::string& file) {
    auto words = good;
    *(std::find(words.begin(), words.end(), option) + 1) = file;
    return words;
  };
  auto other = fast();
  other.info.command = {"another", "job"};
  expect_refused(with("--fast", write("x.trace", other)),
                 {"different jobs", "another job", "x.trace"});
  other = fast();
  other.samples.clear();
  expect_refused(with("--fast", write("x.trace", other)),
                 {"x.trace", "no samples", "record"});
  other = fast();
  other.end.known = false;
  expect_refused(with("--fast", write("x.trace", other)),
                 {"x.trace", "record it again"});
  other = fast();
  other.info.machine.clear();
  expect_refused(with("--fast", write("x.trace", other)),
                 {"x.trace", "--machine"});
  other = fast();
  other.info.placement = "hottest_first";
  expect_refused(with("--fast", write("x.trace", other)),
                 {"x.trace", "hottest_first", "--placement all_fast"});
  expect_refused(with("--fast", scratch / "slow.trace"),
                 {"slow.trace", "all_slow", "--fast"});
  expect_refused(with("--slow", scratch / "none.trace"), {"none.trace"});
  expect_refused(with("--slow", scratch / "two.json"), {"two.json"});
}

TEST_F(Estimate, SaysWhatIsDoubtful) {
  auto other = fast();
  other.info.placement = "";
  other.end.exit_status = 3;
  const auto out =
      answer({"estimate", "--slow", write("s.trace", slow()), "--fast",
              write("f.trace", other), "--sweep", "fast=0..100%"});
  const auto notes = out["notes"].dump();
  EXPECT_NE(notes.find("does not say its placement"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("status 3"), std::string::npos);
  // Hundreds of samples a page: heat is no matter of chance; with five it is.
  EXPECT_EQ(notes.find("chance"), std::string::npos);
  Trace thin = slow();
  for (std::size_t i = 0; 50 * i < thin.samples.size(); ++i) {
    thin.samples[i] = thin.samples[50 * i];
  }
  thin.samples.resize(thin.samples.size() / 50);
  EXPECT_NE(answer({"estimate", "--slow", write("t.trace", thin), "--sweep",
                    "fast=0..100%"})["notes"]
                .dump()
                .find("chance"),
            std::string::npos);
  // Faster in slow memory: the gain is negative, and said to be.
  const auto odd =
      answer({"estimate", "--slow",
              write("s.trace", job_.run("all_slow", {50000000, 50000000})),
              "--fast", write("f.trace", fast()), "--sweep", "fast=0..100%"});
  EXPECT_NE(odd["notes"].dump().find("negative"), std::string::npos);
  EXPECT_EQ(odd["estimates"][10]["gain_ns"], -100000000.0);
}

TEST_F(Estimate, RefusesPlacementsThatCannotBe) {
  expect_refused(placed("{"), {"p.json", "JSON"});
  expect_refused(placed("[]"), {"p.json", "no placement"});
  expect_refused(placed("[3]"), {"p.json", "object"});
  expect_refused(placed(std::string(1000000, '[')), {"p.json", "deeply"});
  expect_refused(placed(R"({"reste": "fast"})"), {"\"reste\"", "rest"});
  expect_refused(placed(R"({"rest": "fsat"})"), {"\"fsat\"", "fast slow"});
  expect_refused(placed(R"({"rest": 2})"), {"no tier 2"});
  expect_refused(placed(R"({"objects": {"embedding": "fast"}})"),
                 {"\"embedding\"", "[heap]"});
  expect_refused(placed(R"({"ranges": [["0x10", "0x20", "fast"]]})"),
                 {"0x10", "no memory"});
  expect_refused(placed(R"({"ranges": [["0x20", "0x10", "fast"]]})"),
                 {"empty"});
  expect_refused(placed(R"({"ranges": [["heap", 2, "fast"]]})"), {"\"heap\""});
  expect_refused(placed(R"({"ranges": [[1, 2]]})"), {"[start, end, tier]"});
  expect_refused(of_pair({"--placement", scratch / "none.json"}),
                 {"none.json"});
  job_.machine.tiers[0].capacity = kRegion;
  expect_refused(placed(R"({"name": "big", "objects": {"[heap]": "fast"}})"),
                 {"\"big\"", "tier fast", std::to_string(4 * kRegion),
                  std::to_string(kRegion)});
}

TEST_F(Estimate, RefusesWhatWasNotAsked) {
  expect_refused({"estimate"}, {"--slow"}, 2);
  const auto path = write("slow.trace", slow());
  expect_refused({"estimate", "--slow", path}, {"--sweep"}, 2);
  expect_refused({"estimate", "--slow", path, "--policy", "all_slow", "--sweep",
                  "fast=0..100%"},
                 {"one of"}, 2);
  for (const char* sweep : {"fast", "fast=", "fast=5%", "fast=10..5%",
                            "fast=0..200%", "slow=0..100%", "fast=0..100"}) {
    expect_refused({"estimate", "--slow", path, "--sweep", sweep},
                   {sweep, "FROM..TO%"}, 2);
  }
  expect_refused(
      {"estimate", "--slow", path, "--agent", "a.pt", "--policy", "all_slow"},
      {"--agent", "all_slow"}, 2);
  expect_refused(
      {"estimate", "--slow", path, "--windows", "0", "--policy", "all_slow"},
      {"windows"}, 2);
}

}  // namespace
}  // namespace thermocline
