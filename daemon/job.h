// Job: a command that we start, watch, and wait for.
//
// The child is held just before exec until release(), so that whoever must
// know its pid first (a sampler, the daemon) is ready before it runs. Its
// standard streams are ours. Thread safety: none. Ownership: a Job that is
// destroyed before its process ended terminates it (SIGTERM, then SIGKILL).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "traces/result.h"

namespace thermocline {

class Job {
 public:
  struct Options {
    std::vector<std::string> command;  // at least one word
    std::vector<std::pair<std::string, std::string>> environment;
    std::vector<int> bind_nodes;   // pages only here; empty: kernel's choice
    bool fixed_addresses = false;  // no address randomisation: two runs match
    bool no_input = false;         // standard input is empty, not ours
    // Apart from our terminal's signals; told to end (SIGTERM) if we die.
    bool own_group = false;
  };

  /// Forks; the child waits. Errors: kNotFound and kPermission, naming the
  /// command, when it cannot be run; kUnsupported; kIo.
  static Result<Job> start(Options options);
  Job(Job&& other) noexcept;
  Job& operator=(Job&& other) noexcept;
  ~Job();

  int pid() const { return pid_; }
  /// Readable when the process has ended.
  int descriptor() const { return descriptor_; }
  /// Lets the child exec. Errors: kPermission when the command cannot be run
  /// after all, kUnsupported when its memory cannot be bound, naming either.
  Status release();
  /// Sends a signal, if the process still runs.
  void signal(int number);
  /// Sends it the signal that stop_signals() has taken, if there is one.
  void pass_on(int signals);
  /// Waits for the end. Returns: exit status as a shell reports it.
  int wait();
  /// CPU time that the ended job and its children used, user and system.
  double cpu_s() const { return cpu_s_; }

 private:
  Job() = default;
  std::string name_;
  std::string nodes_;  // that it is bound to
  int pid_ = -1;
  int descriptor_ = -1;
  int go_ = -1;  // write end: one byte lets the child exec
  double cpu_s_ = 0;
  int failed_ = -1;  // read end: why the child could not exec
};

}  // namespace thermocline
