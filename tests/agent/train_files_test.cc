// What thermocline-train leaves on disk, and what it makes of interruptions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/archive_kind.h"
#include "agent/metrics.h"
#include "tests/agent/train_command.h"

namespace thermocline {
namespace {

using Json = nlohmann::json;

TEST_F(TrainCommand, WritesMetricsAndACurveAndStopsEarly) {
  const Ended done =
      run("-o agent.pt --json --metrics m.csv --metrics m.json --metrics m.svg "
          "--patience 2 --option evaluate_every=2 " +
          tiny_.substr(tiny_.find("--option")) +
          "--episodes 400 slow.trace fast.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  const Json json = Json::parse(done.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << done.out;
  EXPECT_TRUE(json["complete"].get<bool>());
  EXPECT_LT(json["episodes"].get<int>(), 400);
  const auto rows = parse_metrics(slurp(file("m.json")));
  ASSERT_TRUE(rows.has_value());
  ASSERT_GE(rows->size(), 3U);
  EXPECT_EQ(rows->back().episode, json["episodes"].get<int>());
  EXPECT_EQ(rows->back().decisions, json["decisions"].get<int>());
  EXPECT_GT(rows->back().seconds, rows->front().seconds);
  EXPECT_GT(rows->back().loss, 0);
  EXPECT_EQ(metrics_csv(*rows), slurp(file("m.csv")));
  EXPECT_NE(slurp(file("m.svg")).find("<polyline"), std::string::npos);
}

TEST_F(TrainCommand, ShowsAnAgentsPapers) {
  std::ofstream(file("other.json")) << R"({"name": "other", "tiers": [
        {"name": "near", "nodes": [0], "capacity": 1073741824, "read_ns": 80,
         "write_ns": 80, "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10},
        {"name": "far", "nodes": [1], "capacity": 1073741824, "read_ns": 900,
         "write_ns": 900, "read_bytes_per_s": 1e9, "write_bytes_per_s": 5e8}]})";
  const Ended done = run("-o agent.pt --json --seed 5 --machine other.json " +
                         tiny_ + "slow.trace fast.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.out.find(" on other"), std::string::npos) << done.out;
  EXPECT_EQ(archive_kind(file("agent.pt")), "agent");
  EXPECT_EQ(archive_kind(file("slow.trace")), "");
  EXPECT_EQ(archive_kind(file("none")), "");
  std::ofstream(file("cut.pt")) << slurp(file("agent.pt")).substr(0, 5000);
  EXPECT_EQ(archive_kind(file("cut.pt")), kNoneOfOurs);
  const Json papers =
      Json::parse(run("--show agent.pt --json").out, nullptr, false);
  ASSERT_TRUE(papers.is_object());
  EXPECT_EQ(papers["kind"], "agent");
  EXPECT_EQ(papers["seed"], 5);
  EXPECT_EQ(papers["traces"], (Json{"slow.trace", "fast.trace"}));
  EXPECT_EQ(papers["machines"], Json{"other.json"});
  EXPECT_EQ(papers["options"]["region_kib"], 64);
  EXPECT_GT(papers["decisions"].get<int>(), 0);
  const auto text = run("--show agent.pt").out;
  EXPECT_NE(text.find("slow.trace, fast.trace"), std::string::npos) << text;
}

// Killed between two checkpoints at no moment of its choosing.
TEST_F(TrainCommand, KilledAndResumedIsAsIfItHadNotBeen) {
  const std::string job = "--episodes 60 " +
                          tiny_.substr(tiny_.find("--option")) +
                          "slow.trace fast.trace";
  ASSERT_EQ(run("-o whole.pt --quiet " + job).status, 0);
  const pid_t child = start("-o agent.pt --quiet --checkpoint-every 0 " + job);
  wait_until(child, [this] {
    return std::filesystem::exists(file("agent.pt.checkpoint"));
  });
  kill(child, SIGKILL);
  ended(child);
  ASSERT_TRUE(std::filesystem::exists(file("agent.pt.checkpoint")));
  ASSERT_FALSE(std::filesystem::exists(file("agent.pt")));
  const Ended more = run("-o agent.pt --resume --quiet slow.trace fast.trace");
  ASSERT_EQ(more.status, 0) << more.err;
  const auto whole = Agent::load(file("whole.pt"));
  const auto resumed = Agent::load(file("agent.pt"));
  ASSERT_TRUE(whole.has_value() && resumed.has_value());
  EXPECT_EQ(resumed->weights(), whole->weights());
  EXPECT_EQ(resumed->info().decisions, whole->info().decisions);
}

// As on a full disk, no file can grow: SIGXFSZ is ignored, so writing fails.
TEST_F(TrainCommand, FullDiskIsSaidAndNothingIsLost) {
  const std::string job = tiny_ + "--quiet slow.trace fast.trace";
  ASSERT_EQ(run("-o agent.pt --time-limit 0.001 " + job).status, 0);
  const auto old = slurp(file("agent.pt"));
  const auto checkpoint = slurp(file("agent.pt.checkpoint"));
  ASSERT_FALSE(old.empty() || checkpoint.empty());
  const Ended full =
      run("-o agent.pt --resume --checkpoint-every 0 --quiet slow.trace "
          "fast.trace",
          "trap '' XFSZ && ulimit -f 1 && ");
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("agent.pt"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("training goes on"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("--resume"), std::string::npos) << full.err;
  EXPECT_EQ(slurp(file("agent.pt")), old);
  EXPECT_EQ(slurp(file("agent.pt.checkpoint")), checkpoint);
  EXPECT_EQ(run("-o agent.pt --resume --quiet slow.trace fast.trace").status,
            0);
  EXPECT_NE(slurp(file("agent.pt")), old);
}

TEST_F(TrainCommand, OneObjectIsEnoughToTrainOn) {
  SyntheticJob one;
  one.objects = 1;
  for (int p = 0; p < 8; ++p) {
    SyntheticPhase phase;
    phase.instructions = 1'000'000;
    phase.touches.push_back({0, 10, 2});
    one.phases.push_back(phase);
  }
  write("one.trace", one.run("all_slow", std::vector<Nanos>(8, 3000000)));
  const Ended done = run("-o agent.pt " + tiny_ + "one.trace");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(Agent::load(file("agent.pt")).has_value());
}

}  // namespace
}  // namespace thermocline
