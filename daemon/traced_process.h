// TracedProcess: which of a job's processes its trace is of.
//
// A trace is of one address space, but a job may be several processes: a shell
// that starts the program, workers that it forks. It is the one with LibTorch
// where there is one; else the one that is sampled most. To begin with that is
// the job's own, and nothing is settled until there are kEnough samples, so
// that a launcher's few are not taken for the job's.
//
// Thread safety: none. Memory: kMostProcesses; those beyond are not candidates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace thermocline {

class TracedProcess {
 public:
  static constexpr std::size_t kMostProcesses = 4096;
  static constexpr std::uint64_t kEnough = 4096;

  /// `job`: the process that was started.
  explicit TracedProcess(int job) : job_(job), pid_(job) {}

  /// `pid` has LibTorch. The first that does is it for good, or the job's own.
  void has_torch(int pid);
  /// A sample is of `pid`. Once settled, only one with twice as many replaces
  /// it, so that two that are alike do not take turns.
  void sampled(std::uint32_t pid);
  /// Enough time has passed.
  void settle() { settled_ = true; }

  int pid() const { return pid_; }
  bool settled() const { return settled_; }
  /// True when it is so for its LibTorch.
  bool by_torch() const { return by_torch_; }

 private:
  int job_;
  int pid_;
  bool by_torch_ = false;
  bool settled_ = false;
  std::uint64_t all_ = 0;
  std::unordered_map<int, std::uint64_t> samples_;  // by process
};

}  // namespace thermocline
