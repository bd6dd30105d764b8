// cgroup_room: how much more memory this process's cgroup allows it.
//
// A container's limit is often far below what its nodes have free, and whoever
// passes it is killed. Cgroup v2 only; a v1 limit is not seen.
// Source: Documentation/admin-guide/cgroup-v2.rst, memory.max.
// Thread safety: as the Kernel's.
#pragma once

#include <optional>
#include <string>

#include "daemon/syscalls.h"

namespace thermocline {

/// The path of a process's cgroup in the v2 hierarchy, "/user.slice/x"; empty
/// when it has none. `process`: a pid or "self".
std::string cgroup_of(Kernel& kernel, const std::string& process);

/// The least that is left below memory.max, of the process's own cgroup and
/// all above it. Returns: nothing where there is no limit.
std::optional<Bytes> cgroup_room(Kernel& kernel);

}  // namespace thermocline
