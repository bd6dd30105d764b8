// A command on a terminal of its own, where it shows its progress: so that a
// test knows how far it is, however busy the machine, before it stops it.
#pragma once

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace thermocline {

class ChildOnTerminal {
 public:
  explicit ChildOnTerminal(const std::vector<std::string>& command) {
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (pid_ < 0) std::abort();
    if (pid_ > 0) return;
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const auto& word : command) {
      words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ChildOnTerminal(const ChildOnTerminal&) = delete;
  ChildOnTerminal& operator=(const ChildOnTerminal&) = delete;
  ~ChildOnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(terminal_);
  }
  void signal(int number) const { ::kill(pid_, number); }
  // Waits until it has said this; false when it ends or is silent for 60 s.
  bool said(const std::string& text) {
    while (output_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  // Waits for its end (when it is silent for 60 s, it is killed) and returns
  // its exit status.
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

 private:
  bool read_some() {
    pollfd one{terminal_, POLLIN, 0};
    if (::poll(&one, 1, 60'000) <= 0) return false;
    char buffer[4096];
    const auto got = ::read(terminal_, buffer, sizeof buffer);
    ended_ = got <= 0;  // EIO, where the other end is closed
    if (!ended_) output_.append(buffer, static_cast<std::size_t>(got));
    return !ended_;
  }
  int pid_ = -1;
  int terminal_ = -1;
  bool ended_ = false;
  std::string output_;
};

// Waits until a process hears a signal, and would not just die of it.
inline bool hears(int pid, int number) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  for (int tries = 0; tries < 12'000; ++tries) {
    std::ifstream status(path);
    for (std::string word; status >> word;) {
      if (word != "SigCgt:") continue;
      std::uint64_t caught = 0;
      status >> std::hex >> caught;
      if ((caught >> (number - 1) & 1) != 0) return true;
    }
    ::usleep(5'000);
  }
  return false;
}

}  // namespace thermocline
