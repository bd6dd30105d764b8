// The file of the state: whole after every write, and nobody else's.
#include "daemon/state_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

TEST(StatePoolFile, KeepsWhatWasWrittenLast) {
  Scratch scratch;
  const auto path = scratch / "state";
  {
    auto opened = StatePool::open(path);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->bytes, "");
    for (int i = 0; i < 40; ++i) {  // more than the pool could hold at once
      ASSERT_TRUE(opened->pool.write(std::string(4 << 20, 'x')));
    }
    ASSERT_TRUE(opened->pool.write("last"));
    EXPECT_FALSE(opened->pool.write(std::string(StatePool::kBytes, 'y')));
    const auto second = StatePool::open(path);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("in use"), std::string::npos);
  }
  const auto again = StatePool::open(path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->bytes, "last");
  EXPECT_EQ(again->notice, "");
}

TEST(StatePoolFile, DamageIsSetAside) {
  Scratch scratch;
  const auto path = scratch / "state";
  const auto damage = [&](std::uint64_t from, std::size_t bytes) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(from));
    file << std::string(bytes, '\x5a');
  };
  int aside = 0;
  const auto reopened = [&] {
    const auto opened = StatePool::open(path);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->bytes, "");
    const auto name = path + ".damaged-" + std::to_string(++aside);
    EXPECT_NE(opened->notice.find(name), std::string::npos) << opened->notice;
    EXPECT_TRUE(std::filesystem::exists(name));
  };
  std::ofstream(path).flush();  // as one that was just begun
  reopened();
  damage(0, 4096);  // its header
  reopened();
  {
    auto opened = StatePool::open(path);
    ASSERT_TRUE(opened->pool.write(std::string(100'000, 'x')));
  }
  damage(8192, StatePool::kBytes / 2);  // heap and all
  reopened();
  std::filesystem::resize_file(path, 12'345);
  reopened();
}

// A slip of the pen must not cost somebody their file, or the host its
// /dev/null.
TEST(StatePoolFile, WhatNeverWasAPoolIsLeftAlone) {
  Scratch scratch;
  const auto path = scratch / "state";
  const auto expect_left_alone = [&](const std::string& at) {
    const auto before = scratch.files();
    const auto opened = StatePool::open(at);
    ASSERT_FALSE(opened) << at;
    EXPECT_EQ(opened.error().code, Error::Code::kInvalid);
    EXPECT_NE(opened.error().message.find(at), std::string::npos);
    EXPECT_EQ(scratch.files(), before);
  };
  std::ofstream(path) << "somebody's notes";
  expect_left_alone(path);
  EXPECT_EQ(std::filesystem::file_size(path), 16u);
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  expect_left_alone(scratch / "pipe");
  std::filesystem::create_directory(scratch / "folder");
  expect_left_alone(scratch / "folder");
  std::filesystem::create_symlink("/dev/zero", scratch / "device");
  expect_left_alone(scratch / "device");
  std::filesystem::create_symlink(scratch / "none", scratch / "link");
  expect_left_alone(scratch / "link");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
}

// What the child that looks at a pool dies of; 0: nothing.
std::atomic<int> deadly = 0;

TEST(StatePoolFile, OnlyItsOwnFaultCondemnsAPool) {
  const auto die = [] {
    if (deadly != 0) ::raise(deadly);
  };
  ASSERT_EQ(::pthread_atfork(nullptr, nullptr, die), 0);
  Scratch scratch;
  const auto path = scratch / "state";
  {
    auto opened = StatePool::open(path);
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(opened->pool.write("kept"));
  }
  for (const int signal : {SIGALRM, SIGKILL}) {
    deadly = signal;
    const auto opened = StatePool::open(path);
    deadly = 0;
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message.find("left alone"), std::string::npos);
    EXPECT_EQ(StatePool::open(path)->bytes, "kept");
  }
  deadly = SIGXCPU;
  const auto opened = StatePool::open(path);
  deadly = 0;
  ASSERT_TRUE(opened);
  EXPECT_NE(opened->notice.find("damaged"), std::string::npos);
}

TEST(StatePoolFile, AFullDiskIsSaid) {
  Scratch scratch;
  const auto path = scratch / "state";
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit small{1 << 20, 1 << 20};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto opened = StatePool::open(path);
    ::_exit(opened || opened.error().code != Error::Code::kIo ||
            ::access(path.c_str(), F_OK) == 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace thermocline
