// locked_areas: the mappings that a process has locked in memory (mlock).
//
// Whoever locks memory wants no faults there, and a page that moves is one.
// The kernel itself would move them. Looking costs a walk over all pages of
// the process (smaps), but only where something is locked at all (VmLck).
// Source: man 5 proc, /proc/PID/status and /proc/PID/smaps (VmFlags "lo").
// Thread safety: as the Kernel's.
#pragma once

#include <vector>

#include "daemon/syscalls.h"

namespace thermocline {

/// The first address of each; empty where the kernel does not tell.
std::vector<Address> locked_areas(Kernel& kernel, int pid);

}  // namespace thermocline
