#include "daemon/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "daemon/node_memory.h"
#include "daemon/target.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

bool leader_ended() {
  std::ifstream file("/proc/self/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto process = parse_process(text);
  return process && process->leaderless;
}

Machine this_host() {
  Machine machine;
  machine.tiers = {{"all", {0}, 1 << 30, 80, 80, 1e10, 1e10, false}};
  return machine;
}

TEST(Process, NamesMayHoldAnything) {
  const auto process = parse_process(
      "42 (a) R 1 (b)) S 1 1 1 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 777 0\n");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 42);
  EXPECT_EQ(process->name, "a) R 1 (b)");
  EXPECT_EQ(process->started, 777u);
  EXPECT_TRUE(process->kernel_thread);  // PF_KTHREAD is in the flags
  EXPECT_FALSE(process->zombie);
}

TEST(Process, CutTextIsCorrupt) {
  const std::string whole =
      "42 (job) Z 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 777";
  ASSERT_TRUE(parse_process(whole));
  EXPECT_TRUE(parse_process(whole)->zombie);
  for (std::size_t length = 0; length + 3 < whole.size(); ++length) {
    EXPECT_FALSE(parse_process(whole.substr(0, length))) << length;
  }
}

TEST(Process, OneWhoseFirstThreadEndedHasNot) {
  const auto process =
      parse_process("42 (job) Z 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 2 0 777");
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->zombie);
  ScriptedKernel kernel;
  EXPECT_FALSE(thread_with_memory(kernel, *process));
  kernel.files["proc/42/task/42/stat"] = kernel.files["proc/42/task/57/stat"] =
      "";
  EXPECT_EQ(*thread_with_memory(kernel, *process), 57);
  EXPECT_EQ(*thread_with_memory(kernel, {.pid = 42}), 42);
}

// On this kernel: main leaves, another thread goes on.
TEST(Process, ItsMemoryIsThatOfAThreadThatLives) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const int pid = ::fork();
  if (pid == 0) {
    std::thread([end = ready[1]] {
      while (!leader_ended()) ::usleep(1000);
      if (::write(end, "x", 1) == 1) ::sleep(60);
      ::_exit(0);
    }).detach();
    ::syscall(SYS_exit, 0);  // of this thread alone
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const auto kernel = open_kernel();
  auto target = Target::attach(*kernel, this_host(), pid, {});
  EXPECT_TRUE(target) << target.error().message;
  if (target) {
    EXPECT_NE(target->memory_id(), pid);
    EXPECT_TRUE(target->refresh());
    EXPECT_GT(target->footprint(), 0u);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (target) EXPECT_FALSE(target->refresh());
}

TEST(NodeMemory, SumsWhatTheKernelSays) {
  const auto memory = parse_node_memory(
      "\nNode 1 MemTotal:       16303428 kB\nNode 1 MemFree:  1000 kB\n"
      "Node 1 Active(file):  7 kB\nNode 1 Inactive(file):  2000 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, Bytes{16303428} * 1024);
  EXPECT_EQ(memory->free, 1000u * 1024);
  EXPECT_EQ(memory->inactive_file, 2000u * 1024);
  EXPECT_FALSE(parse_node_memory("Node 1 MemTotal: 5 kB\n"));
}

}  // namespace
}  // namespace thermocline
