#include "daemon/process.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "daemon/node_memory.h"
#include "daemon/target.h"
#include "tests/daemon/scripted_kernel.h"

namespace thermocline {
namespace {

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
  Process led;
  led.pid = 42;
  EXPECT_EQ(*thread_with_memory(kernel, led), 42);
}

// On this kernel: main leaves, another thread goes on.
TEST(Process, ItsMemoryIsThatOfAThreadThatLives) {
  const int pid = ::fork();
  if (pid == 0) {
    const std::string program =
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "ctypes.CDLL(None).syscall(" +
        std::to_string(SYS_exit) + ", 0)\n";  // of this thread alone
    ::execl("/usr/bin/python3", "python3", "-c", program.c_str(), nullptr);
    ::_exit(127);
  }
  const auto kernel = open_kernel();
  const auto is_leaderless = [&] {
    const auto process = read_process(*kernel, pid);
    return process && process->leaderless;
  };
  for (int i = 0; i < 3000 && !is_leaderless(); ++i) ::usleep(10'000);
  const Machine machine = this_host();
  auto target = Target::attach(*kernel, machine, pid, {});
  EXPECT_TRUE(target) << target.error().message;
  if (target) {
    EXPECT_NE(target->memory_id(), pid);
    EXPECT_TRUE(target->refresh());
    EXPECT_GT(target->footprint(), 0u);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  if (target) {
    EXPECT_FALSE(target->refresh());
  }
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
