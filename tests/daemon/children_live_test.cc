// What a managed process starts is managed, too: a launcher of a real job.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "tests/daemon/dry_daemon.h"
#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

using nlohmann::json;

// A process as small as a shell, which has started one with 80 MiB.
class Launcher {
 public:
  Launcher() {
    int told[2];
    if (::pipe2(told, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setpgid(0, 0);
      const int child = ::fork();
      if (child == 0) {
        constexpr std::size_t kBytes = std::size_t{80} << 20;
        auto* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        std::memset(memory, 7, kBytes);
        const int self = ::getpid();
        if (::write(told[1], &self, sizeof self) < 0) ::_exit(1);
      }
      for (;;) ::pause();
    }
    if (::read(told[0], &child_, sizeof child_) != sizeof child_) std::abort();
    ::close(told[0]);
    ::close(told[1]);
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  int pid() const { return pid_; }
  int child() const { return child_; }

 private:
  int pid_ = -1;
  int child_ = -1;
};

class ChildrenLive : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::vector<std::string>& more) {
    return dry_daemon(socket, more);
  }
  // The targets after so many windows, or as soon as there are two.
  std::vector<int> targets(std::int64_t windows) {
    for (;;) {
      const auto status = ask_daemon(socket, {{"op", "status"}});
      const auto pids = status["targets"].get<std::vector<int>>();
      if (pids.size() > 1 || status["windows"] >= windows) return pids;
      ::usleep(20'000);
    }
  }
  Scratch scratch;
  const std::string socket = scratch / "run/api.sock";
  Launcher launcher;
};

TEST_F(ChildrenLive, WhatAProcessStartsIsManaged) {
  Child daemon(command({"--pid", std::to_string(launcher.pid())}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  EXPECT_EQ(targets(60), (std::vector<int>{launcher.pid(), launcher.child()}));
}

TEST_F(ChildrenLive, SoIsThatOfAnAttachedOne) {
  Child daemon(command({}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  const auto attached =
      ask_daemon(socket, {{"op", "attach"}, {"pid", launcher.pid()}});
  ASSERT_EQ(attached["ok"], true) << attached;
  EXPECT_EQ(targets(60), (std::vector<int>{launcher.pid(), launcher.child()}));
}

TEST_F(ChildrenLive, NotWhereItIsNotWanted) {
  Child daemon(
      command({"--pid", std::to_string(launcher.pid()), "--children=false"}));
  ASSERT_EQ(daemon.ready(), "ready\n");
  EXPECT_EQ(targets(20), std::vector<int>{launcher.pid()});
}

}  // namespace
}  // namespace thermocline
