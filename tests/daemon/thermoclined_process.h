// Runs the thermoclined binary, as a test of it from the outside.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>
#include <zmq.hpp>

namespace thermocline {

// A directory of its own, removed at the end.
class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/thermocline-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& unused : std::filesystem::directory_iterator(path_)) {
      static_cast<void>(unused);
      ++count;
    }
    return count;
  }

 private:
  std::string path_;
};

// What a child process says, until it ends.
class Running {
 public:
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(from_);
  }
  int pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Waits for its end (when it is silent for too long, it is killed) and
  // returns its exit status.
  int wait() {
    while (read_some()) {
    }
    if (!ended_) ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  const std::string& output() const { return output_; }

 protected:
  explicit Running(int patience_ms) : patience_ms_(patience_ms) {}
  // In the child.
  [[noreturn]] static void become(const std::vector<std::string>& command) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  static std::string read_from(int fd, int timeout_ms, bool& ended) {
    pollfd one{fd, POLLIN, 0};
    if (::poll(&one, 1, timeout_ms) <= 0) return {};
    char buffer[4096];
    const auto got = ::read(fd, buffer, sizeof buffer);
    ended = got <= 0;  // EIO: of a terminal whose other end is closed
    return {buffer, got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  // False when it has ended, or was silent for too long.
  bool read_some() {
    const auto more = read_from(from_, patience_ms_, ended_);
    output_ += more;
    return !more.empty();
  }

  int pid_ = -1;
  int from_ = -1;

  std::string output_;

 private:
  int patience_ms_;
  bool ended_ = false;
};

// A command whose output goes to a pipe.
class Child : public Running {
 public:
  // `patience_ms`: how long it may be silent.
  explicit Child(const std::vector<std::string>& command,
                 int patience_ms = 20'000)
      : Running(patience_ms) {
    int out[2];
    int ready[2];
    if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(ready, O_CLOEXEC) != 0) abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::dup2(out[1], 2);
      ::dup2(ready[1], 9);
      ::fcntl(9, F_SETFD, 0);  // where it was 9 already, dup2 did nothing
      become(command);
    }
    ::close(out[1]);
    ::close(ready[1]);
    from_ = out[0];
    ready_ = ready[0];
  }
  ~Child() { ::close(ready_); }
  // What it wrote to descriptor 9 first; waits for it up to 20 s.
  std::string ready() const {
    bool closed = false;
    return read_from(ready_, 20'000, closed);
  }

 private:
  int ready_ = -1;
};

// One request to a daemon; null when nobody answers within 10 s.
inline nlohmann::json ask_daemon(const std::string& socket,
                                 nlohmann::json request) {
  request["v"] = 1;
  zmq::context_t context(1);
  zmq::socket_t client(context, zmq::socket_type::req);
  client.set(zmq::sockopt::linger, 0);
  client.set(zmq::sockopt::rcvtimeo, 10'000);
  client.connect("ipc://" + socket);
  client.send(zmq::buffer(request.dump()), zmq::send_flags::none);
  zmq::message_t reply;
  if (!client.recv(reply)) return nullptr;
  return nlohmann::json::parse(reply.to_string_view(), nullptr, false);
}

}  // namespace thermocline
