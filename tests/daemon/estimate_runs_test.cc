// thermocline estimate, from the outside: phases, tiers between, and objects
// that move while the job runs.
#include <random>

#include "tests/daemon/estimated_job.h"

namespace thermocline {
namespace {

class EstimateRuns : public Estimate {};

TEST_F(EstimateRuns, PhasesAreMatchedOrRefusedWithTheWayOn) {
  auto other = fast();
  std::erase_if(other.marks,
                [](const Mark& mark) { return mark.name == "phase 1"; });
  Words words{"estimate",
              "--slow",
              write("s.trace", slow()),
              "--fast",
              write("f.trace", other),
              "--sweep",
              "fast=0..100%"};
  expect_refused(words, {"f.trace", "\"phase 1\"", "none", "--phases none"});
  words.insert(words.end(), {"--phases", "none"});
  EXPECT_EQ(answer(words)["estimates"][10]["ns"], 200000000.0);
  words.back() = "some";
  EXPECT_NE(run(words).status, 0);
  // Without marks, by the sample rate: 7 and 40 a millisecond in the slow run,
  // 20 and 200 in the fast one.
  job_.marks = false;
  job_.phases[1].touches = {{3, 20000, 0}};
  const auto out =
      answer(placed(R"({"objects": {")" + name_of(0) + R"(": "fast"}})"));
  const auto& phases = out["estimates"][0]["phases"];
  ASSERT_EQ(phases.size(), 2U) << phases.dump();
  EXPECT_NEAR(phases[0]["slow_ns"], 300e6, 1e6);
  EXPECT_NEAR(phases[0]["ns"], 100e6, 1e6);
  EXPECT_NEAR(phases[1]["ns"], 500e6, 1e6);
}

TEST_F(EstimateRuns, ATierBetweenMayHaveATraceOfItsOwn) {
  Tier cxl = job_.machine.tiers[0];
  cxl.name = "cxl";
  cxl.nodes = {2};
  cxl.read_ns = cxl.write_ns = 190;
  job_.machine.tiers.insert(job_.machine.tiers.begin() + 1, cxl);
  const auto file =
      write("cxl.trace", job_.run("", {200000000, 150000000}, {0.9, 0.8}));
  auto words = placed(R"({"rest": "cxl"})");
  auto out = answer(words);
  EXPECT_EQ(out["tiers"][1]["measured"], false);
  EXPECT_NEAR(out["estimates"][0]["ns"], 500e6, 1) << "half way by latency";
  EXPECT_NE(run(words).output.find("MODELLED, between"), std::string::npos);
  words.insert(words.end(), {"--tier", "cxl=" + file});
  out = answer(words);
  EXPECT_EQ(out["tiers"][1]["measured"], true);
  EXPECT_EQ(out["tiers"][1]["ns"], 350000000.0);
  EXPECT_EQ(out["estimates"][0]["ns"], 350000000.0);
  EXPECT_EQ(out["estimates"][0]["error_ns"], 0.0);
  EXPECT_EQ(out["estimates"][0]["modelled_ns"], 0.0);
  EXPECT_NE(out["notes"].dump().find("cxl.trace: does not say"),
            std::string::npos);
  for (const auto& [wrong, why] : {std::pair{"cxl", "TIER=FILE"},
                                   {"hbm=x", "no tier hbm"},
                                   {"fast=x", "--fast"},
                                   {"slow=x", "--slow"}}) {
    words.back() = wrong;
    expect_refused(words, {wrong, why});
  }
  words.back() = "cxl=none.trace";
  expect_refused(words, {"none.trace", "no such file"});
  expect_refused({"estimate", "--slow", scratch / "slow.trace", "--tier",
                  "cxl=" + file, "--sweep", "fast=0..100%"},
                 {"--tier", "--fast"});
}

TEST_F(EstimateRuns, ObjectsMayMoveWhileTheJobRuns) {
  // Object 3 is needed from 300 ms of the slow run on.
  const auto moves = [&](const std::string& when) {
    return placed(R"({"moves": [{)" + when + R"(, "objects": {")" + name_of(3) +
                  R"(": "fast"}}]})");
  };
  auto out = answer(moves(R"("at_s": 0.2)"));
  const auto& early = out["estimates"][0];
  EXPECT_EQ(early["migration"]["moved_bytes"], kRegion);
  EXPECT_NEAR(early["ns"], 400e6, 1e6);
  EXPECT_NEAR(early["phases"][1]["ns"], 100e6, 1e6);
  double sum = 200e6 - early["overlap_ns"].get<double>() +
               early["migration"]["waited_ns"].get<double>() +
               early["migration"]["interference_ns"].get<double>();
  for (const auto& object : early["objects"]) {
    sum += object["cost_ns"].get<double>();
  }
  EXPECT_NEAR(sum, early["ns"], 10);
  out = answer(moves(R"("window": 100)"));
  const auto& late = out["estimates"][0];
  EXPECT_GT(late["migration"]["waited_ns"], 0.0);
  EXPECT_EQ(late["ns"].get<double>(),
            800e6 + late["migration"]["waited_ns"].get<double>());
  EXPECT_EQ(late["modelled_ns"], late["migration"]["waited_ns"]);
  EXPECT_NE(run(moves(R"("window": 100)")).output.find("migrates"),
            std::string::npos);
  expect_refused(moves(R"("window": 101)"), {"\"window\"", "0 to 100"});
  expect_refused(moves(R"("window": 1, "at_s": 1)"), {"one of"});
  expect_refused(moves(R"("at_s": -1)"), {"\"at_s\""});
  expect_refused(moves(R"("when": 3)"), {"\"when\"", "at_s"});
  expect_refused(placed(R"({"moves": 3})"), {"\"moves\""});
  expect_refused(placed(R"({"moves": [], "move_bytes_per_s": 0})"),
                 {"move_bytes_per_s"});
  job_.machine.tiers[0].capacity = kRegion;
  answer(moves(R"("window": 7)"));
  job_.machine.tiers[0].capacity = kRegion / 2;
  expect_refused(moves(R"("window": 7)"), {"moves of window 7", "tier fast"});
}

// Pages of uneven heat, two samples each in the mean.
TEST_F(EstimateRuns, APlacementThatOthersChoseIsTakenAtItsWord) {
  constexpr std::size_t kPages = 1024;
  job_.objects = kPages * 4096 / kRegion;
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> draw(0, 1);
  std::vector<double> heat(kPages);
  for (double& one : heat) one = draw(random);
  std::discrete_distribution<std::size_t> pick(heat.begin(), heat.end());
  const auto at = [](std::size_t page) {
    return SyntheticJob::address(0) + page * 4096;
  };
  const auto scattered = [&](Trace trace) {
    trace.samples.resize(2 * kPages);
    for (Sample& sample : trace.samples) sample.address = at(pick(random));
    return trace;
  };
  const Trace few_slow = scattered(slow()), few_fast = scattered(fast());
  std::vector<double> seen(kPages, 0);
  for (const Sample& sample : few_slow.samples) {
    ++seen[(sample.address - at(0)) / 4096];
  }
  const auto where = [&](const std::vector<double>& by, double least) {
    auto ranges = nlohmann::json::array();
    for (std::size_t page = 0; page < kPages; ++page) {
      if (by[page] >= least) ranges.push_back({at(page), at(page + 1), "fast"});
    }
    return nlohmann::json{{"ranges", ranges}};
  };
  const nlohmann::json two{where(heat, 1.5), where(seen, 3)};
  const Words words{"estimate",
                    "--slow",
                    write("few_slow.trace", few_slow),
                    "--fast",
                    write("few_fast.trace", few_fast),
                    "--placement",
                    write("two.json", two.dump())};
  const auto out = answer(words);
  EXPECT_EQ(out["estimates"][0]["at_their_word"], true);
  EXPECT_EQ(out["estimates"][1]["at_their_word"], false);
  EXPECT_NE(out["notes"].dump().find("1 of 2 placements follows what is hot"),
            std::string::npos);
}

TEST_F(EstimateRuns, APhaseAndWindowsWithoutSamplesAreSaid) {
  job_.phases[1].touches = {};
  const auto notes =
      answer(of_pair({"--sweep", "fast=0..100%"}))["notes"].dump();
  EXPECT_NE(notes.find(R"(phase \"phase\" holds no sample)"), std::string::npos)
      << notes;
  EXPECT_NE(notes.find("of 100 windows hold no sample"), std::string::npos);
}

TEST_F(EstimateRuns, RandomisedAddressesAreAlignedAndSaid) {
  const auto words =
      placed(R"({"objects": {")" + name_of(0) + R"(": "fast"}})");
  const auto plain = answer(words);
  Trace moved = fast();
  for (Mapping& mapping : moved.mappings) {
    mapping.start += 0x5000000;
    mapping.end += 0x5000000;
  }
  for (Sample& sample : moved.samples) sample.address += 0x5000000;
  write("fast.trace", moved);
  const auto out = answer(words);
  EXPECT_EQ(out["estimates"], plain["estimates"]);
  EXPECT_NE(out["notes"].dump().find("randomised"), std::string::npos);
  for (Mapping& mapping : moved.mappings) mapping.name = "/dev/shm/x";
  write("fast.trace", moved);
  expect_refused(words, {"fast.trace", "100%", "setarch -R"});
}

}  // namespace
}  // namespace thermocline
