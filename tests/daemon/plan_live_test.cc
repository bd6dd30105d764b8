// thermocline run --plan with a real PyTorch job: recorded, then followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/plan_basis.h"
#include "tests/daemon/commands.h"
#include "tests/policies/tensor_jobs.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

// 60 steps of a small model, and five of a smaller one.
const Words kSteps{"--", "/usr/bin/python3", "tests/tracer/tiny_job.py",
                   "step"};
const Words kOther{"--", "/usr/bin/python3", "tests/tracer/tiny_job.py",
                   "train"};

class PlanLive : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    // This host's node is the slow tier; the fast one is only described. So
    // all that a plan wants in fast memory has to move, if only dryly.
    std::ofstream(scratch / "upside_down.json") << R"({"name": "two", "tiers": [
      {"name": "near", "nodes": [63], "capacity": 8589934592, "read_ns": 80,
       "write_ns": 80, "read_bytes_per_s": 1e10, "write_bytes_per_s": 1e10},
      {"name": "far", "nodes": [0], "capacity": 8589934592, "read_ns": 300,
       "write_ns": 300, "read_bytes_per_s": 1e9, "write_bytes_per_s": 1e9}]})";
  }
  Ran planned(Words rest, const Words& command) const {
    Words words{"run",       "--json",
                "--source",  "none",
                "--mover",   "dry",
                "--socket",  socket(),
                "--machine", scratch / "upside_down.json"};
    words.insert(words.end(), rest.begin(), rest.end());
    words.insert(words.end(), command.begin(), command.end());
    return run(words);
  }
  std::string recorded(const Words& command) const {
    const auto path = scratch / "job.trace";
    const auto ran = run(record(path, command));
    EXPECT_EQ(ran.status, 0) << ran.output;
    return path;
  }
  static nlohmann::json report(const Ran& ran) {
    const auto from = ran.output.find('{');
    return nlohmann::json::parse(
        ran.output.substr(from, ran.output.rfind('}') + 1 - from), nullptr,
        false);
  }
};

TEST_F(PlanLive, AJobIsFollowedStepByStep) {
  const auto trace = recorded(kSteps);
  for (const char* policy : {"autotm", "learned"}) {
    SCOPED_TRACE(policy);
    const auto ran = planned({"--plan", trace, "--policy", policy}, kSteps);
    ASSERT_EQ(ran.status, 0) << ran.output;
    const auto json = report(ran);
    const auto& target = json["daemon"]["targets"][0];
    const auto& plan = target["plan"];
    EXPECT_EQ(plan["in_force"], true) << plan;
    EXPECT_EQ(plan["drops"], 0) << plan;
    // All but the first, which makes the optimizer's state, and the last.
    EXPECT_GE(plan["steps"]["alike"], 50) << plan;
    EXPECT_GE(plan["steps"]["in_force"], 30) << plan;
    EXPECT_EQ(plan["steps"]["lost"], 0) << plan;
    EXPECT_GT(plan["births"]["moved"], 0) << plan;
    EXPECT_GT(target["moves"]["admitted_bytes"], 0) << target["moves"] << plan;
    EXPECT_EQ(target["moves"]["moved_bytes"], 0);
  }
}

TEST_F(PlanLive, AnotherJobIsNotTakenForTheRecordedOne) {
  const auto trace = recorded(kSteps);
  const auto ran = planned({"--plan", trace, "--policy", "autotm"}, kOther);
  ASSERT_EQ(ran.status, 0) << ran.output;
  const auto json = report(ran);
  const auto& plan = json["daemon"]["targets"][0]["plan"];
  EXPECT_EQ(plan["in_force"], false);
  EXPECT_EQ(plan["steps"]["alike"], 0) << plan;
  EXPECT_EQ(plan["births"]["moved"], 0);
}

TEST_F(PlanLive, SaysInALineWhatBecameOfThePlan) {
  const auto trace = recorded(kOther);
  auto words = beside({"--plan", trace, "--policy", "next_use"});
  words.insert(words.end(), kOther.begin(), kOther.end());
  const auto ran = run(words);
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("steps, moves 0 ahead, 0 late, 0 missed"));
}

TEST_F(PlanLive, APolicyThatMakesNoPlanSaysSo) {
  const auto trace = recorded(kSteps);
  const auto ran =
      planned({"--plan", trace, "--policy", "hottest_first"}, kOther);
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("makes none"));
}

TEST_F(PlanLive, RefusesWhatNothingCanBePlannedFrom) {
  const auto trace = small_trace();  // samples alone
  for (const auto& [words, naming] : std::vector<std::pair<Words, std::string>>{
           {{"--plan", trace}, "has no operators"},
           {{"--plan", scratch / "none.trace"}, "none.trace"},
           {{"--plan", trace, "--no-tensors"}, "--no-tensors"},
           {{"--plan", trace, "--policy", "all_slow"}, "all_slow"}}) {
    const auto ran = planned(words, {"--", "touch", scratch / "touched"});
    EXPECT_NE(ran.status, 0);
    EXPECT_THAT(ran.output, HasSubstr(naming));
    EXPECT_NE(::access((scratch / "touched").c_str(), F_OK), 0);
  }
}

TEST_F(PlanLive, TheDaemonAloneNeedsAnObserver) {
  Child daemon({THERMOCLINED, "--plan", small_trace(), "--check-config"});
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(daemon.output(), HasSubstr("--observer"));
}

TEST(PlanBasis, RefusesAJobThatDoesNotRepeat) {
  const Scratch scratch;
  ChainJob job;
  job.steps = 1;
  ASSERT_TRUE(write_trace(scratch / "a.trace", job.trace(), true));
  const auto basis = load_plan_basis(scratch / "a.trace", two_tiers());
  ASSERT_FALSE(basis);
  EXPECT_THAT(basis.error().message, HasSubstr("a.trace"));
  EXPECT_THAT(basis.error().message, HasSubstr("no steps that repeat"));
}

TEST(PlanBasis, KnowsWhatTheJobHasBesideItsTensors) {
  const Scratch scratch;
  ChainJob job;
  Trace trace = job.trace();
  trace.end.private_bytes = Bytes{100} << 20;
  ASSERT_TRUE(write_trace(scratch / "a.trace", trace, true));
  const auto basis = load_plan_basis(scratch / "a.trace", two_tiers());
  ASSERT_TRUE(basis) << basis.error().message;
  EXPECT_TRUE((*basis)->marked);
  EXPECT_EQ((*basis)->iteration.operators(), job.operators());
  // At most all of them live at once.
  EXPECT_LT((*basis)->beside, Bytes{100} << 20);
  EXPECT_GT((*basis)->beside, Bytes{97} << 20);
}

}  // namespace
}  // namespace thermocline
