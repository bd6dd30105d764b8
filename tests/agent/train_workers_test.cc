// Processes that train together: started by one, or each by hand.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "tests/agent/train_command.h"

namespace thermocline {
namespace {

// A port that was free a moment ago.
int free_port() {
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  bind(one, reinterpret_cast<sockaddr*>(&at), size);
  getsockname(one, reinterpret_cast<sockaddr*>(&at), &size);
  close(one);
  return ntohs(at.sin_port);
}

// The children of a process, as the kernel lists them.
std::vector<pid_t> children(pid_t parent) {
  const auto id = std::to_string(parent);
  FILE* list =
      std::fopen(("/proc/" + id + "/task/" + id + "/children").c_str(), "r");
  std::vector<pid_t> out;
  for (int one = 0; list != nullptr && std::fscanf(list, "%d", &one) == 1;) {
    out.push_back(one);
  }
  if (list != nullptr) std::fclose(list);
  return out;
}

TEST_F(TrainCommand, WorkersTrainOneAgent) {
  const Ended done =
      run("-o agent.pt --workers 2 --json " + tiny_ + "slow.trace fast.trace");
  ASSERT_EQ(done.status, 0) << done.err;
  const auto json = nlohmann::json::parse(done.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << done.out;
  EXPECT_EQ(json["workers"], 2);
  EXPECT_EQ(json["episodes"], 6);
  const auto agent = Agent::load(file("agent.pt"));
  ASSERT_TRUE(agent.has_value());

  // The same by hand, as on two machines: the same bits.
  const std::string job = " --quiet --workers 2 --rendezvous 127.0.0.1:" +
                          std::to_string(free_port()) + " " + tiny_ +
                          "slow.trace fast.trace";
  const pid_t other = start("-o far.pt --rank 1" + job);
  const Ended first = run("-o near.pt --rank 0" + job);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(ended(other), 0);
  EXPECT_FALSE(std::filesystem::exists(file("far.pt")));
  const auto same = Agent::load(file("near.pt"));
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->weights(), agent->weights());
}

TEST_F(TrainCommand, AWorkerThatDiesIsNamedAndTheCheckpointKept) {
  const std::string job =
      "--option windows=20 --option region_kib=64 --option frame_objects=8 "
      "slow.trace fast.trace";
  const pid_t leader = start(
      "-o agent.pt --workers 2 --episodes 100000 --checkpoint-every 0 " + job);
  wait_until(leader, [this] {
    return std::filesystem::exists(file("agent.pt.checkpoint"));
  });
  const auto workers = children(leader);
  ASSERT_EQ(workers.size(), 1U);
  kill(workers[0], SIGKILL);
  const int status = ended(leader);
  const auto err = slurp(file("err.txt"));
  EXPECT_EQ(WEXITSTATUS(status), 1) << err;
  EXPECT_NE(err.find("worker 1 (pid " + std::to_string(workers[0]) +
                     ") was killed by signal 9"),
            std::string::npos)
      << err;
  EXPECT_NE(err.find("--resume"), std::string::npos) << err;
  const Ended more =
      run("-o agent.pt --workers 2 --resume --json --time-limit 0.3 slow.trace "
          "fast.trace");
  EXPECT_EQ(more.status, 0) << more.err;
  EXPECT_TRUE(Agent::load(file("agent.pt")).has_value());
}

}  // namespace
}  // namespace thermocline
