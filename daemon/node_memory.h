// Free memory of NUMA nodes, as /sys tells it.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/syscalls.h"
#include "estimator/machine.h"

namespace thermocline {

struct NodeMemory {
  Bytes total = 0;
  Bytes free = 0;  // without reclaim (zone_info.h), where the kernel tells
  Bytes inactive_file = 0;  // page cache that the kernel gives up easily

  /// What a process can get when that share of the cache makes way.
  Bytes free_with(double reclaim) const {
    return free +
           static_cast<Bytes>(static_cast<double>(inactive_file) * reclaim);
  }
};

// Share of inactive page cache that is taken for free: what moves into a full
// node, the kernel makes room for there, from such pages first.
inline constexpr double kReclaim = 0.8;

/// From the text of sys/devices/system/node/nodeN/meminfo. Errors: kCorrupt.
Result<NodeMemory> parse_node_memory(std::string_view text);

/// Of one node, now. Errors: those of reading and parsing its files.
Result<NodeMemory> node_memory(Kernel& kernel, int node);

/// Of each tier the sum over its nodes. Errors: those of reading the files.
std::vector<Result<NodeMemory>> tier_memory(Kernel& kernel,
                                            const Machine& machine);

}  // namespace thermocline
