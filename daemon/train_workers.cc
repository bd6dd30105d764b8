#include "daemon/train_workers.h"

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace thermocline {
namespace {

constexpr const char* kSelf = "/proc/self/exe";
// For a worker whose team is no more; one that hangs is ended.
constexpr int kPatienceMs = 30'000;
constexpr int kRestMs = 10;

// Its status, once it has ended.
int wait_for(pid_t pid) {
  int status = 0;
  for (int waited = 0; waited < kPatienceMs; waited += kRestMs) {
    if (::waitpid(pid, &status, WNOHANG) != 0) return status;
    ::usleep(kRestMs * 1000);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return status;
}

std::string meeting_file() {
  const char* folder = ::getenv("TMPDIR");
  std::string name = folder != nullptr && *folder != 0 ? folder : "/tmp";
  name += "/thermocline-train.XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return {};
  ::close(file);
  return name;
}

std::string fate(int rank, pid_t pid, int status) {
  std::string out =
      "worker " + std::to_string(rank) + " (pid " + std::to_string(pid) + ") ";
  if (WIFSIGNALED(status)) {
    return out + "was killed by signal " + std::to_string(WTERMSIG(status)) +
           " (" + ::strsignal(WTERMSIG(status)) + ")";
  }
  return out + "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Status LocalWorkers::start(int size, int argc, char** argv) {
  file_ = meeting_file();
  if (file_.empty()) {
    return io(std::string("cannot make a temporary file for the workers: ") +
              std::strerror(errno) + "; set TMPDIR");
  }
  meeting_ = "file:" + file_;
  for (int rank = 1; rank < size; ++rank) {
    std::vector<std::string> words(argv, argv + argc);
    words.insert(words.end(), {"--rendezvous", meeting_, "--rank",
                               std::to_string(rank), "--quiet"});
    std::vector<char*> raw;
    for (auto& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    pid_t pid = 0;
    const int code =
        ::posix_spawn(&pid, kSelf, nullptr, nullptr, raw.data(), environ);
    if (code != 0) {
      return io(std::string("cannot start a worker: ") + std::strerror(code));
    }
    pids_.push_back(pid);
  }
  return {};
}

std::string LocalWorkers::ended() {
  std::string out;
  for (std::size_t i = 0; i < pids_.size(); ++i) {
    const pid_t pid = std::exchange(pids_[i], 0);
    if (pid == 0) continue;
    const int status = wait_for(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    // Those that only lost the others are not to blame.
    const auto what = fate(static_cast<int>(i) + 1, pid, status);
    if (out.empty() || WIFSIGNALED(status)) out = what;
  }
  return out;
}

LocalWorkers::~LocalWorkers() {
  for (const pid_t pid : pids_) {
    if (pid != 0) ::kill(pid, SIGTERM);
  }
  for (const pid_t pid : pids_) {
    if (pid != 0) wait_for(pid);
  }
  if (!file_.empty()) ::unlink(file_.c_str());
}

}  // namespace thermocline
