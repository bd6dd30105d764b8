// run_workload: prepares, steps and checks a workload, and tells of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/machine/workloads/workload.h"

namespace thermocline {

struct RunHooks {
  /// Called between preparing and the first step, with the arrays of all
  /// copies. May fork: each process that returns goes on with the run.
  std::function<Status(const std::vector<Array>&)> begin;
  /// Called before each step.
  std::function<void(std::uint64_t)> step;
  /// Called after the last step, before the result is checked.
  std::function<Status()> end;
};

struct RunSettings {
  std::string name;
  std::size_t mebibytes = 128;
  std::uint64_t steps = 32;
  std::uint64_t seed = 1;
  /// So many copies, each on a thread of its own, with its share of the memory
  /// and the next seed; they step together.
  unsigned threads = 1;
  bool check = true;
};

/// The memory below which a copy's checks mean little.
constexpr std::size_t kLeastMebibytes = 4;

/// Runs the workload; `print` gets each line of output when it is due. Returns
/// the checksum. Errors: no such workload, too little memory for the threads,
/// a wrong result, or a hook's error.
Result<std::uint64_t> run_workload(
    const RunSettings& settings,
    const std::function<void(const std::string&)>& print,
    const RunHooks& hooks = {});

}  // namespace thermocline
