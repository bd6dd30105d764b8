// children_of: the processes that a process started, by any of its threads.
//
// Where a whole look at /proc costs a read a process of the host, this costs
// one a thread of the process asked about. Source: man 5 proc,
// /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN, which the distributions
// set); a child that comes or goes meanwhile may be missed.
// Thread safety: as the Kernel's.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/syscalls.h"

namespace thermocline {

/// Ascending; empty where the kernel does not tell, or the process has ended.
/// Asks at most `left` threads, and takes those that it asked off that.
std::vector<int> children_of(Kernel& kernel, int pid, std::size_t& left);

}  // namespace thermocline
