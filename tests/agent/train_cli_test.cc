// thermocline-train from the outside: what it writes, says and refuses.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "tests/agent/train_command.h"

namespace thermocline {
namespace {

TEST_F(TrainCommand, TrainsAndReports) {
  const Ended done =
      run("-o agent.pt --json " + tiny_ + "slow.trace fast.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << done.out;
  EXPECT_EQ(json["episodes"], 6);
  EXPECT_TRUE(json["complete"].get<bool>());
  EXPECT_TRUE(json["notes"].empty());
  EXPECT_GT(json["evaluation"].size(), 0U);
  const auto agent = Agent::load(file("agent.pt"));
  ASSERT_TRUE(agent.has_value()) << agent.error().message;
  EXPECT_EQ(agent->info().episodes, 6);
  EXPECT_FALSE(std::filesystem::exists(file("agent.pt.checkpoint")));
}

TEST_F(TrainCommand, TracesOfManyHostsTrainOneAgent) {
  job_.machine.name = "another host";
  job_.machine.tiers[1].capacity = Bytes{1} << 33;
  write("b.slow.trace", job_.run("all_slow", std::vector<Nanos>(20, 5000000)));
  write("b.fast.trace", job_.run("all_fast", std::vector<Nanos>(20, 1000000)));
  const Ended done = run("-o agent.pt --json " + tiny_ +
                         "b.fast.trace slow.trace fast.trace b.slow.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << done.out;
  EXPECT_TRUE(json["notes"].empty()) << "all four are measured: " << done.out;
  const auto agent = Agent::load(file("agent.pt"));
  ASSERT_TRUE(agent.has_value()) << agent.error().message;
}

TEST_F(TrainCommand, SaysWhatIsModelled) {
  const Ended done = run("-o agent.pt " + tiny_ + "slow.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("modelled"), std::string::npos) << done.err;
  EXPECT_NE(done.out.find("first_touch"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("wrote agent.pt"), std::string::npos) << done.out;
}

TEST_F(TrainCommand, StopsAtOnceAndGoesOn) {
  const pid_t child = start(
      "-o agent.pt --episodes 100000 --option windows=20 "
      "--option region_kib=64 slow.trace fast.trace");
  // Its progress says that it trains, and so that it listens to signals.
  wait_until(child, [this] {
    return slurp(file("err.txt")).find("episode") != std::string::npos;
  });
  kill(child, SIGINT);
  const int status = ended(child);
  const std::string err = slurp(file("err.txt"));
  ASSERT_TRUE(WIFEXITED(status)) << err;
  EXPECT_EQ(WEXITSTATUS(status), 130) << err;
  EXPECT_NE(err.find("--resume"), std::string::npos) << err;
  EXPECT_TRUE(Agent::load(file("agent.pt")).has_value());
  ASSERT_TRUE(std::filesystem::exists(file("agent.pt.checkpoint")));
  const Ended more =
      run("-o agent.pt --resume --json --time-limit 0.2 slow.trace fast.trace");
  EXPECT_EQ(more.status, 0) << more.err;
  EXPECT_NE(more.err.find("--resume"), std::string::npos) << more.err;
  const Ended other = run("-o agent.pt --resume --quiet slow.trace");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("other traces"), std::string::npos) << other.err;
}

TEST_F(TrainCommand, RefusesInOneLine) {
  refuses("-o agent.pt", "no traces");
  refuses("-o no/folder/agent.pt slow.trace", "no/folder/agent.pt");
  refuses("-o . slow.trace", "name a file");
  refuses("-o agent.pt --option gamma=7 slow.trace", "gamma");
  refuses("-o agent.pt --resume slow.trace", "agent.pt.checkpoint");
  refuses("slow.trace", "--out");
  refuses("-o agent.pt --machine no.json slow.trace", "no.json");
  refuses("-o agent.pt --workers 2 --rendezvous here:1 slow.trace", "--rank");
  refuses("-o agent.pt --workers 2 --rendezvous here --rank 0 slow.trace",
          "HOST:PORT");
  refuses("--show slow.trace", "is not a thermocline agent");
}

}  // namespace
}  // namespace thermocline
