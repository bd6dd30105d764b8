// Solver groups: the solvers of one host, by memory node.
//
// After NUMA-Caffe (ACM TACO 15(2), 2018): threads that compute
// gradients ("solvers") are grouped by the node whose CPUs they run on, and
// each group has a replica of the parameters in that node's memory. A host
// with one node has one group. Where the paper is silent: solvers are divided
// in proportion to CPUs, and nodes without CPUs (a DIMM, CXL memory) have none.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
};

/// The host's nodes that have CPUs among `allowed` (those of this process),
/// with these. `sys`: root of sysfs. A kernel without nodes has one, with all
/// that is allowed. Errors: kCorrupt (a list of CPUs that is none), kInvalid
/// (no CPU is left).
Result<std::vector<NumaNode>> numa_nodes(const std::string& sys,
                                         const std::vector<int>& allowed);

/// The CPUs on which this process may run.
std::vector<int> allowed_cpus();

/// "0-3,8" as numbers. Errors: kCorrupt.
Result<std::vector<int>> read_cpu_list(const std::string& text);

struct SolverGroup {
  NumaNode node;
  int solvers = 1;
};

/// Divides that many solvers; nodes that get none have no group. Requires:
/// nodes, solvers >= 1. Determinism: of equals, the first node gets more.
std::vector<SolverGroup> solver_groups(const std::vector<NumaNode>& nodes,
                                       int solvers);

}  // namespace thermocline
