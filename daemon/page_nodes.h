// page_nodes: on which memory nodes pages of a process lie.
//
// Thread safety: as the Kernel's.
#pragma once

#include <climits>
#include <cstddef>
#include <span>
#include <vector>

#include "daemon/syscalls.h"

namespace thermocline {

// A status that the kernel did not write.
inline constexpr int kUntouched = INT_MIN;

inline constexpr std::size_t kPagesPerQuery = 4096;

/// For each page its node, or -errno (ENOENT: not present), or kUntouched.
/// Errors: kNotFound when the process has gone, kPermission, kIo.
Result<std::vector<int>> page_nodes(Kernel& kernel, int pid,
                                    std::span<const Address> pages);

}  // namespace thermocline
