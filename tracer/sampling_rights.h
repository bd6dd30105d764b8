// SamplingRights: what the kernel lets us sample, and why it refused.
//
// A refusal is one errno for many causes; which one it is shows in the
// settings of the kernel and in who owns the target.
// Thread safety: pure but for reading files below a root.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/perf_events.h"
#include "traces/result.h"

namespace thermocline {

// Bits of a process's capabilities (linux/capability.h).
enum class Capability : int {
  kIpcLock = 14,
  kSysPtrace = 19,
  kSysAdmin = 21,
  kSysNice = 23,
  kPerfmon = 38,
};

struct SamplingRights {
  // kernel.perf_event_paranoid. 2 allows one's own processes without the
  // kernel, 1 the kernel too, 0 whole CPUs; 3 (Debian's) nothing.
  int paranoid = 2;
  bool known = false;  // the kernel has perf events at all
  std::uint64_t capabilities = 0;
  std::uint32_t uid = 0;         // ours
  std::uint32_t target_uid = 0;  // the target's; ours when there is none

  bool has(Capability capability) const {
    return (capabilities >> static_cast<int>(capability) & 1) != 0;
  }
  /// True when perf_event_paranoid does not apply to us.
  bool privileged() const {
    return has(Capability::kPerfmon) || has(Capability::kSysAdmin);
  }
};

/// Ours, for sampling process `pid` (0: no process). `root` stands for "/".
SamplingRights sampling_rights(const std::string& root, int pid);

/// Why the kernel answered `error` (an errno) when asked to sample `event` in
/// `target` ("process 17"), with the remedy.
Error sampling_error(int error, const PerfEvent& event,
                     const std::string& target, const SamplingRights& rights,
                     bool whole_cpus);

}  // namespace thermocline
