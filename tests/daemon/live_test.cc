// thermoclined managing a real process on this host, whatever its memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "tests/daemon/dry_daemon.h"
#include "tests/daemon/free_ports.h"
#include "tests/daemon/thermoclined_process.h"

namespace thermocline {
namespace {

using nlohmann::json;

// A process that holds some memory that it has touched, and as much that it has
// not, until it is told.
class Holder {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  Holder() {
    int tell[2];
    int told[2];
    if (::pipe2(tell, O_CLOEXEC) != 0 || ::pipe2(told, O_CLOEXEC) != 0) abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(told[1]);
      auto* memory = ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      std::memset(memory, 7, kBytes);
      auto written = ::write(tell[1], &memory, sizeof memory);
      char byte = 0;
      // Ends when the test does, however that is.
      written += ::read(told[0], &byte, 1);
      ::_exit(written == 0 ? 1 : 0);
    }
    ::close(tell[1]);
    ::close(told[0]);
    go_ = told[1];
    if (::read(tell[0], &memory_, sizeof memory_) < 0) abort();
    ::close(tell[0]);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder() { end(); }
  void end() {
    if (pid_ < 0) return;
    ::close(go_);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  int pid() const { return pid_; }
  std::uintptr_t memory() const {
    return reinterpret_cast<std::uintptr_t>(memory_);
  }
  // Where a huge page does not reach, either.
  std::uintptr_t untouched() const { return memory() + 2 * kBytes - (1 << 20); }

 private:
  int pid_ = -1;
  int go_ = -1;
  void* memory_ = nullptr;
};

class Live : public ::testing::Test {
 protected:
  std::vector<std::string> command(const std::vector<std::string>& more = {}) {
    return dry_daemon(socket, more);
  }
  Scratch scratch;
  const std::string socket = scratch / "run/api.sock";
};

TEST_F(Live, AnswersForARealProcessAndEndsWithIt) {
  Holder holder;
  Child daemon(command({"--pid", std::to_string(holder.pid()),
                        "--exit-with-target", "--report", scratch / "out"}));
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  // A window asks about so many pages only, and a sanitizer's shadow has many.
  nlohmann::json placed;
  for (int tries = 0; tries < 200; ++tries) {
    placed = ask_daemon(
        socket, {{"op", "placement"}, {"address", holder.memory() + 12345}});
    if (placed["tier"].is_string()) break;
    ::usleep(50'000);
  }
  ASSERT_EQ(placed["ok"], true) << placed;
  EXPECT_EQ(placed["pid"], holder.pid());
  // All of the region is there, and on the node that this host has first.
  const auto tiers = ask_daemon(socket, {{"op", "tiers"}})["tiers"];
  EXPECT_TRUE(placed["tier"].is_string());
  if (tiers.size() == 1) {
    EXPECT_EQ(placed["tier"], tiers[0]["name"]);
  }
  std::size_t bytes = 0;
  for (const auto& one : placed["bytes_by_tier"]) bytes += one.get<size_t>();
  EXPECT_GT(bytes, 0u);
  const auto targets = ask_daemon(socket, {{"op", "targets"}})["targets"];
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_GE(targets[0]["footprint_bytes"], Holder::kBytes);
  const auto explained =
      ask_daemon(socket, {{"op", "explain"}, {"address", holder.memory()}});
  EXPECT_EQ(explained["ok"], true) << explained;
  EXPECT_FALSE(explained["dry_reason"].get<std::string>().empty());
  holder.end();
  EXPECT_EQ(daemon.wait(), 0) << daemon.output();
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "run"));
  std::ifstream file(scratch / "out");
  const auto report = json::parse(file, nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_GE(report["windows"], 1);
  EXPECT_EQ(report["targets"][0]["ended"], true);
  EXPECT_EQ(report["mover"], "dry");
}

TEST_F(Live, StopsCleanlyOnATermination) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Child daemon(command({"--json"}));
    ASSERT_EQ(daemon.ready(), "ready\n");
    struct stat seen {};
    ASSERT_EQ(::stat(socket.c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0077, 0u);  // its owner's only
    daemon.signal(signal);
    EXPECT_EQ(daemon.wait(), 0) << daemon.output();
    EXPECT_NE(daemon.output().find("\"windows\""), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_empty(scratch / "run"));
  }
}

TEST_F(Live, StopsWhenAsked) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  EXPECT_EQ(ask_daemon(socket, {{"op", "shutdown"}})["ok"], true);
  EXPECT_EQ(daemon.wait(), 0) << daemon.output();
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "run"));
}

TEST_F(Live, OneServerAtATime) {
  Child first(command());
  ASSERT_EQ(first.ready(), "ready\n");
  Child second(command());
  EXPECT_EQ(second.wait(), 1);
  EXPECT_NE(second.output().find("in use by another thermoclined"),
            std::string::npos);
  // The first one did not notice.
  EXPECT_EQ(ask_daemon(socket, {{"op", "version"}})["ok"], true);
}

TEST_F(Live, WhatAKilledServerLeftIsNoObstacle) {
  {
    Child first(command());
    ASSERT_EQ(first.ready(), "ready\n");
    first.signal(SIGKILL);
    first.wait();
  }
  EXPECT_TRUE(std::filesystem::exists(socket));
  Child second(command());
  ASSERT_EQ(second.ready(), "ready\n") << (second.wait(), second.output());
  EXPECT_EQ(ask_daemon(socket, {{"op", "version"}})["ok"], true);
}

TEST_F(Live, PublishesWindows) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  zmq::context_t context(1);
  zmq::socket_t events(context, zmq::socket_type::sub);
  events.set(zmq::sockopt::subscribe, "window");
  events.set(zmq::sockopt::rcvtimeo, 10'000);
  events.connect("ipc://" + socket + ".events");
  zmq::message_t topic;
  zmq::message_t text;
  ASSERT_TRUE(events.recv(topic));
  ASSERT_TRUE(events.recv(text));
  const auto event = json::parse(text.to_string_view(), nullptr, false);
  EXPECT_EQ(event["event"], "window");
}

TEST_F(Live, AttachAndDetachOverTheSocket) {
  Holder holder;
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  const auto attached =
      ask_daemon(socket, {{"op", "attach"}, {"pid", holder.pid()}});
  ASSERT_EQ(attached["ok"], true) << attached;
  EXPECT_EQ(ask_daemon(socket, {{"op", "detach"}, {"pid", holder.pid()}})["ok"],
            true);
  const auto itself =
      ask_daemon(socket, {{"op", "attach"}, {"pid", daemon.pid()}});
  EXPECT_EQ(itself["error"]["code"], "invalid") << itself;
  EXPECT_NE(itself.dump().find("thermoclined itself"), std::string::npos);
  // Many requests in flight, some of them bad: each gets its answer.
  zmq::context_t context(1);
  zmq::socket_t client(context, zmq::socket_type::dealer);
  client.set(zmq::sockopt::rcvtimeo, 10'000);
  client.connect("ipc://" + socket);
  for (int i = 0; i < 500; ++i) {
    const json request = {{"v", 1}, {"op", i % 2 ? "version" : "x"}, {"id", i}};
    client.send(zmq::buffer(request.dump()), zmq::send_flags::none);
  }
  for (int i = 0; i < 500; ++i) {
    zmq::message_t reply;
    ASSERT_TRUE(client.recv(reply)) << i;
    const auto answer = json::parse(reply.to_string_view(), nullptr, false);
    EXPECT_EQ(answer["id"], i);
    EXPECT_EQ(answer["ok"], i % 2 == 1);
  }
  client.send(zmq::buffer(std::string(100'000, 'x')), zmq::send_flags::none);
  zmq::message_t reply;
  ASSERT_TRUE(client.recv(reply));
  EXPECT_NE(reply.to_string_view().find("larger than 64 KiB"),
            std::string_view::npos);
}

TEST_F(Live, CommandsChangeARunningDaemon) {
  Holder holder;
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  ::setenv("THERMOCLINE_SOCKET", socket.c_str(), 1);
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), THERMOCLINE);
    Child child(words);
    const int status = child.wait();
    return std::to_string(status) + " " + child.output();
  };
  const auto pid = std::to_string(holder.pid());
  EXPECT_EQ(
      said({"attach", pid}),
      "0 pid " + pid + " is managed by the thermoclined on " + socket + "\n");
  EXPECT_NE(said({"attach", pid}).find("is managed already"),
            std::string::npos);
  EXPECT_NE(said({"query", "placement", std::to_string(holder.untouched())})
                .find(" of pid " + pid + " has no memory yet\n"),
            std::string::npos);
  EXPECT_EQ(said({"budget", "64M"}), "0 moves may use 64.0 MiB/s\n");
  EXPECT_EQ(said({"budget"}), "0 moves may use 64.0 MiB/s\n");
  EXPECT_NE(said({"budget", "5X"}).find("write it like 67108864, 64M or 1G"),
            std::string::npos);
  EXPECT_EQ(said({"pause"}).substr(0, 8), "0 paused");
  EXPECT_EQ(said({"resume"}), "0 moves are made again\n");
  EXPECT_EQ(said({"policy", "histogram"}),
            "0 decided by histogram from now on\n");
  EXPECT_NE(said({"policy"}).find("* histogram"), std::string::npos);
  EXPECT_EQ(said({"policy", "nonsense"}).substr(0, 2), "1 ");
  EXPECT_NE(said({"watch", "window", "-n", "1"}).find("window "),
            std::string::npos);
  EXPECT_NE(said({"top"}).find(pid), std::string::npos);
  EXPECT_EQ(said({"detach", pid}), "0 pid " + pid + " is managed no more\n");
  ::unsetenv("THERMOCLINE_SOCKET");
  EXPECT_EQ(said({"attach", pid, "--socket", socket, "--weight", "2",
                  "--minimum", "1M"})
                .substr(0, 6),
            "0 pid ");
  const auto targets = ask_daemon(socket, {{"op", "targets"}})["targets"];
  ASSERT_EQ(targets.size(), 2u) << targets;  // it was managed before
  EXPECT_EQ(targets[0]["weight"], 1.0);
  EXPECT_EQ(targets[1]["weight"], 2.0);
  EXPECT_EQ(targets[1]["minimum_bytes"], 1 << 20);
}

TEST_F(Live, MetricsAreServedOnLoopback) {
  const auto port = std::to_string(two_free_ports());
  Child daemon(command({"--metrics-port", port}));
  ASSERT_EQ(daemon.ready(), "ready\n") << (daemon.wait(), daemon.output());
  Child python(
      {"/usr/bin/python3", "-c",
       "import urllib.request as u; print(u.urlopen('http://127.0.0.1:" + port +
           "/metrics').read().decode())"});
  EXPECT_EQ(python.wait(), 0) << python.output();
  EXPECT_NE(python.output().find("\nthermocline_windows_total "),
            std::string::npos)
      << python.output();
}

// Not even ZeroMQ's own greeting, and a peer that says nothing at all.
TEST_F(Live, GarbageOnTheSocketHarmsNobody) {
  Child daemon(command());
  ASSERT_EQ(daemon.ready(), "ready\n");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(socket.begin(), socket.end(), address.sun_path);
  std::vector<int> peers;
  for (int i = 0; i < 50; ++i) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                        sizeof address),
              0);
    std::string bytes(static_cast<std::size_t>(i) * 97, '\0');
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      bytes[b] =
          static_cast<char>((b * 2'654'435'761U + 31 * bytes.size()) >> 9);
    }
    // It may hang up in the middle.
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) >=
                      0);
    peers.push_back(fd);
  }
  EXPECT_EQ(ask_daemon(socket, {{"op", "version"}})["ok"], true);
  for (const int fd : peers) ::close(fd);
  EXPECT_EQ(ask_daemon(socket, {{"op", "version"}})["ok"], true);
}

}  // namespace
}  // namespace thermocline
