// thermocline-train, as a test of it from the outside runs it.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/estimator/synthetic.h"
#include "traces/trace_file.h"

namespace thermocline {

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
  // Runs in the folder, so that file names need no path. `before`: what the
  // shell does first.
  Ended run(const std::string& arguments,
            const std::string& before = {}) const {
    const std::string command = "cd " + folder_ + " && " + before +
                                THERMOCLINE_TRAIN + " " + arguments +
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

  // The same, beside the test; with output to out.txt and err.txt.
  pid_t start(const std::string& arguments) const {
    const std::string command = "cd " + folder_ + " && exec " +
                                THERMOCLINE_TRAIN + " " + arguments +
                                " >out.txt 2>err.txt";
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }
  // Until it is there, or the child has ended.
  template <typename There>
  static void wait_until(pid_t child, There there) {
    siginfo_t ended = {};
    while (!there() && ended.si_pid == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      waitid(P_PID, static_cast<id_t>(child), &ended,
             WEXITED | WNOHANG | WNOWAIT);
    }
  }
  static int ended(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string folder_;
  SyntheticJob job_;
  const std::string tiny_ =
      "--episodes 6 --option windows=20 --option region_kib=64 "
      "--option frame_objects=8 ";
};

}  // namespace thermocline
