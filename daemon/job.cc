#include "daemon/job.h"

#include <fcntl.h>
#include <numaif.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "daemon/node_mask.h"

namespace thermocline {
namespace {

// Why the child could not become the command.
struct Failure {
  int cause = 0;  // errno
  bool binding = false;
};

// The child, after fork: only async-signal-safe calls, except setenv, which
// is safe as long as the parent has one thread when it forks.
[[noreturn]] void become(const Job::Options& options, int go, int failed) {
  char byte = 0;
  if (read(go, &byte, 1) != 1) _exit(127);  // the parent gave up
  const auto give_up = [failed](bool binding) {
    const Failure failure{errno, binding};
    (void)!write(failed, &failure, sizeof failure);
    _exit(127);
  };
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (options.no_input) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  }
  if (options.own_group) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  if (options.fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  if (!options.bind_nodes.empty()) {
    const auto mask = node_mask(options.bind_nodes);
    if (set_mempolicy(MPOL_BIND, mask.data(), kMaxNodes) != 0) {
      give_up(true);
    }
  }
  for (const auto& [name, value] : options.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> words;
  for (const auto& word : options.command) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  execvp(words[0], words.data());
  give_up(false);
  _exit(127);
}

// 0, or why execvp would not run it, as far as can be told beforehand.
int why_not(const std::string& path) {
  struct stat what {};
  if (stat(path.c_str(), &what) != 0) return errno;
  if (!S_ISREG(what.st_mode)) return EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// Looks a command up as execvp does, so that a slip of the pen is told before
// anything is opened, replaced or started for its sake.
Status look_up(const std::string& name) {
  int cause = ENOENT;
  if (name.find('/') != std::string::npos) {
    cause = why_not(name);
  } else {
    const char* path = std::getenv("PATH");
    std::istringstream places(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string place; std::getline(places, place, ':');) {
      const int here = why_not((place.empty() ? "." : place) + "/" + name);
      if (here == 0) return {};
      if (here == EACCES) cause = here;
    }
  }
  if (cause == 0) return {};
  const std::string message =
      "cannot run \"" + name + "\": " + std::strerror(cause);
  return cause == EACCES ? permission(message)
                         : not_found(message + "; check the command");
}

}  // namespace

Result<Job> Job::start(Options options) {
  CHECK(!options.command.empty());
  if (auto status = look_up(options.command[0]); !status) {
    return status.error();
  }
  std::array<int, 2> go{};
  std::array<int, 2> failed{};
  if (pipe2(go.data(), O_CLOEXEC) != 0) {
    return io("cannot make a pipe: " + std::string(std::strerror(errno)));
  }
  if (pipe2(failed.data(), O_CLOEXEC) != 0) {
    close(go[0]);
    close(go[1]);
    return io("cannot make a pipe: " + std::string(std::strerror(errno)));
  }
  const int pid = fork();
  if (pid == 0) {
    close(go[1]);
    close(failed[0]);
    become(options, go[0], failed[1]);
  }
  const int cause = errno;
  close(go[0]);
  close(failed[1]);
  Job job;
  job.go_ = go[1];
  job.failed_ = failed[0];
  job.name_ = options.command[0];
  for (const int node : options.bind_nodes) {
    job.nodes_ += " " + std::to_string(node);
  }
  job.pid_ = pid;
  if (pid < 0) return io("cannot fork: " + std::string(std::strerror(cause)));
  job.descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (job.descriptor_ < 0) {
    return unsupported("pidfd_open: " + std::string(std::strerror(errno)) +
                       "; needs Linux 5.3 or later");
  }
  return job;
}

Job::Job(Job&& other) noexcept { *this = std::move(other); }

Job& Job::operator=(Job&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(nodes_, other.nodes_);
  std::swap(pid_, other.pid_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(go_, other.go_);
  std::swap(failed_, other.failed_);
  std::swap(cpu_s_, other.cpu_s_);
  return *this;
}

Job::~Job() {
  if (go_ >= 0) close(go_);  // an unreleased child reads the end and exits
  if (failed_ >= 0) close(failed_);
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    for (int tries = 0; tries < 50; ++tries) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) {
        pid_ = -1;
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  if (descriptor_ >= 0) close(descriptor_);
}

Status Job::release() {
  CHECK(go_ >= 0);
  const char byte = 1;
  (void)!write(go_, &byte, 1);
  close(go_);
  go_ = -1;
  Failure failure;
  const auto got = read(failed_, &failure, sizeof failure);
  close(failed_);
  failed_ = -1;
  if (got != sizeof failure) return {};  // closed by exec: it runs
  wait();
  if (failure.binding) {
    return unsupported(
        "cannot bind the job's memory to node" + nodes_ + ": " +
        std::strerror(failure.cause) +
        "; numactl -H lists this host's nodes, --machine says which to use");
  }
  return permission("cannot run \"" + name_ +
                    "\": " + std::strerror(failure.cause));
}

void Job::signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

void Job::pass_on(int signals) {
  signalfd_siginfo what{};
  if (read(signals, &what, sizeof what) == sizeof what) {
    signal(static_cast<int>(what.ssi_signo));
  }
}

int Job::wait() {
  CHECK(pid_ > 0);
  int status = 0;
  rusage used{};
  while (wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  cpu_s_ = seconds(used.ru_utime) + seconds(used.ru_stime);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace thermocline
