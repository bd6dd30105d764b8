// Free memory of NUMA nodes, as /sys tells it.
#pragma once

#include <string>
#include <vector>

#include "daemon/syscalls.h"
#include "estimator/machine.h"

namespace thermocline {

struct NodeMemory {
  Bytes total = 0;
  Bytes free = 0;  // without reclaim (zone_info.h), where the kernel tells
  Bytes inactive_file = 0;  // page cache that the kernel gives up easily
};

/// From the text of sys/devices/system/node/nodeN/meminfo. Errors: kCorrupt.
Result<NodeMemory> parse_node_memory(const std::string& text);

/// Of one node, now. Errors: those of reading and parsing its files.
Result<NodeMemory> node_memory(Kernel& kernel, int node);

/// Of each tier the sum over its nodes. Errors: those of reading the files.
std::vector<Result<NodeMemory>> tier_memory(Kernel& kernel,
                                            const Machine& machine);

}  // namespace thermocline
