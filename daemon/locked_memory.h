// locked_areas: the mappings that a process has locked in memory (mlock).
//
// Looking costs a walk over all pages of the process (smaps), but only where
// something is locked at all (VmLck, which costs nothing to ask for).
// Source: man 5 proc, /proc/PID/status and /proc/PID/smaps (VmFlags "lo").
// Thread safety: as the Kernel's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/syscalls.h"

namespace thermocline {

/// How much a process has locked, in KiB; 0 where the kernel does not tell.
/// `directory`: "proc/PID".
std::uint64_t locked_kib(Kernel& kernel, const std::string& directory);

/// The first address of each, of a process that has locked something. Errors:
/// what reading smaps gives.
Result<std::vector<Address>> locked_areas(Kernel& kernel,
                                          const std::string& directory);

}  // namespace thermocline
