// NodePlan: with how much memory, and from which CPUs, a node is measured.
//
// More than the caches hold, or the caches would be measured; and never more
// than a share of what the node has free, so that nothing is pushed into swap
// and nobody is killed for want of memory.
// Thread safety: as the Kernel's.
#pragma once

#include <string>
#include <vector>

#include "daemon/syscalls.h"
#include "estimator/memory_nodes.h"

namespace thermocline {

struct ProbeOptions {
  std::vector<int> nodes;   // empty: all that have memory
  std::size_t threads = 0;  // for bandwidth; 0: all CPUs of the nearest node
  Bytes size = 0;           // 0: chosen by the caches
  int repeats = 5;          // the median counts
  bool quick = false;       // less memory and less time
  double limit_s = 150;     // for all of it (probe_pace.h)
  Grouping grouping = Grouping::kByNode;
  bool operations = false;           // also those of memory_operations.h
  std::vector<std::string> folders;  // and in files there
};

struct NodePlan {
  int node = 0;
  std::vector<int> cpus;  // bandwidth is measured from all, latency from one
  Bytes bytes = 0;
  Bytes caches = 0;  // of all these CPUs; assumed when the kernel is silent
  std::vector<std::string> notes;  // doubts
  Bytes least = 0;  // of bytes, that it takes even when the time is short
};

/// Those of `nodes` that the options name. Errors: kInvalid naming a node that
/// is not there or has no memory; kUnsupported when there is none at all.
Result<std::vector<int>> chosen_nodes(const std::vector<MemoryNode>& nodes,
                                      const ProbeOptions& options);

/// `allowed`: CPUs that this process may run on. `root` stands for "/", for
/// the caches; `kernel` tells what is free. Errors: kInvalid for options that
/// the machine cannot meet, kUnsupported when there is too little memory to
/// miss the caches; each names the node and the remedy.
Result<NodePlan> plan_node(Kernel& kernel, const std::string& root,
                           const std::vector<MemoryNode>& nodes, int node,
                           const std::vector<int>& allowed,
                           const ProbeOptions& options);

/// How much of a node measuring may take, now. Errors: kNotFound, kCorrupt.
Result<Bytes> room_on(Kernel& kernel, int node);

}  // namespace thermocline
