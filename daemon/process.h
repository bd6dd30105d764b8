// Process: who a pid is, so that it is not mistaken for another later.
//
// Pids are reused; a process is known by its pid together with the time it
// was started (field 22 of /proc/PID/stat).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/syscalls.h"

namespace thermocline {

struct Process {
  int pid = 0;
  std::uint64_t started = 0;  // clock ticks since boot
  int parent = 0;
  std::string name;  // as the kernel knows it, at most 15 bytes
  bool kernel_thread = false;
  bool zombie = false;      // it has ended, and nobody has waited for it
  bool leaderless = false;  // its first thread has ended, and others live
};

/// Errors: kNotFound when there is no such process; kInvalid for a pid that
/// cannot be one; kCorrupt when the kernel's answer cannot be understood.
Result<Process> read_process(Kernel& kernel, int pid);

/// The id under which the kernel tells of a process's memory, and moves it: its
/// pid, or that of another thread where the first has ended (pthread_exit in
/// main), for that one has no memory any more. Errors: kNotFound when no thread
/// lives.
Result<int> thread_with_memory(Kernel& kernel, const Process& process);

/// From the text of /proc/PID/status, "VmRSS:   1234 kB": the n-th number after
/// the key, as it stands there. None when there is no such line or number.
std::optional<std::uint64_t> status_word(const std::string& status,
                                         const std::string& key, int n);

/// From the text of /proc/PID/stat; the name in it may hold anything.
Result<Process> parse_process(const std::string& stat);

}  // namespace thermocline
