// thermocline-train from the outside: what it writes, says and refuses.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "agent/agent.h"
#include "tests/estimator/synthetic.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

struct Ended {
  int status = -1;
  std::string out;
  std::string err;
};

class TrainCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "train." + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    job_.objects = 24;
    for (ObjectId p = 0; p < 20; ++p) {
      // The first half is used once, the second for ever after.
      SyntheticPhase phase;
      phase.instructions = 1'000'000;
      for (ObjectId i = 0; i < 12; ++i) {
        phase.touches.push_back({p == 0 ? i : 12 + i, 10, 2});
      }
      job_.phases.push_back(phase);
    }
    write("slow.trace", job_.run("all_slow", std::vector<Nanos>(20, 3000000)));
    write("fast.trace", job_.run("all_fast", std::vector<Nanos>(20, 1000000)));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const {
    return folder_ + "/" + name;
  }
  void write(const std::string& name, const Trace& trace) const {
    ASSERT_TRUE(write_trace(file(name), trace, true).has_value());
  }
  static std::string slurp(const std::string& path) {
    std::string out;
    std::array<char, 4096> part;
    FILE* from = std::fopen(path.c_str(), "rb");
    if (from == nullptr) return out;
    while (const auto n = std::fread(part.data(), 1, part.size(), from)) {
      out.append(part.data(), n);
    }
    std::fclose(from);
    return out;
  }
  // Runs in the folder, so that file names need no path.
  Ended run(const std::string& arguments) const {
    const std::string command = "cd " + folder_ + " && " THERMOCLINE_TRAIN +
                                std::string(" ") + arguments +
                                " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            slurp(file("out.txt")), slurp(file("err.txt"))};
  }
  // Fails with one line that holds `part`.
  void refuses(const std::string& arguments, const std::string& part) const {
    const Ended done = run(arguments);
    EXPECT_NE(done.status, 0) << arguments;
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
    EXPECT_EQ(done.err.find('\n'), done.err.size() - 1) << done.err;
  }

  std::string folder_;
  SyntheticJob job_;
  const std::string tiny_ =
      "--episodes 6 --option windows=20 --option region_kib=64 "
      "--option frame_objects=8 ";
};

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

TEST_F(TrainCommand, SaysWhatIsModelled) {
  const Ended done = run("-o agent.pt " + tiny_ + "slow.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_NE(done.err.find("modelled"), std::string::npos) << done.err;
  EXPECT_NE(done.out.find("first_touch"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("wrote agent.pt"), std::string::npos) << done.out;
}

TEST_F(TrainCommand, StopsAtOnceAndGoesOn) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(folder_.c_str()) != 0 ||
        std::freopen("out.txt", "w", stdout) == nullptr ||
        std::freopen("err.txt", "w", stderr) == nullptr) {
      _exit(126);
    }
    execl(THERMOCLINE_TRAIN, "thermocline-train", "-o", "agent.pt",
          "--episodes", "100000", "--option", "windows=20", "--option",
          "region_kib=64", "slow.trace", "fast.trace", nullptr);
    _exit(127);
  }
  // Its progress says that it trains, and so that it listens to signals.
  while (slurp(file("err.txt")).find("episode") == std::string::npos &&
         waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
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
  refuses("-o . slow.trace", "folder");
  refuses("-o agent.pt --option gamma=7 slow.trace", "gamma");
  refuses("-o agent.pt --resume slow.trace", "agent.pt.checkpoint");
}

}  // namespace
}  // namespace thermocline
