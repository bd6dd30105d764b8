// MemoryNode: a NUMA node as sysfs shows it, and the Machine that nodes make.
//
// Thread safety: plain values; reading files apart, pure.
// Source: Documentation/ABI/stable/sysfs-devices-node, admin-guide/mm/
// numaperf.rst (HMAT's figures: ns and MiB/s), and
// Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/machine.h"

namespace thermocline {

struct MemoryNode {
  int id = 0;
  std::vector<int> cpus;
  std::map<int, int> distance;  // by node; 10 is itself (SLIT)
  int rank = 0;                 // lower is faster, as the kernel has it
  // The node as a tier without a name: its memory (capacity 0: CPUs only) and
  // HMAT's figures, as its nearest CPUs see it.
  Tier tier;
  std::string hmat_path;  // where HMAT's figures were looked for, below root
};

/// All online nodes, those without memory among them. `root` stands for "/".
/// Their ranks are those of memory_tiering, else by whether they have CPUs and
/// by distance. Empty where the kernel has no NUMA.
std::vector<MemoryNode> read_memory_nodes(const std::string& root);

enum class Grouping {
  kByRank,  // nodes of one rank are a tier
  kByNode,  // each node is a tier
};

/// The Machine of those nodes that have memory, fastest first by rank, or by
/// their figures where these contradict the ranks. Errors: kUnsupported when
/// none has any.
Result<Machine> machine_of(const std::string& root,
                           const std::vector<MemoryNode>& nodes,
                           Grouping grouping);

}  // namespace thermocline
