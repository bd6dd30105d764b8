// run_grouped: solvers that train one model together, a replica a node.
//
//   run_grouped(groups, {.parameters = n}, [&](Solver& solver) {
//     for (...) {
//       compute(solver.replica(), gradient);
//       const auto sum = solver.sum(gradient);      // of all solvers
//       for (i in solver.slice()) solver.replica()[i] -= rate * sum[i];
//       solver.meet();                              // the replica is whole
//     }
//   });
//
// sum() first adds within a group, in that node's memory, and then the groups'
// sums: of each gradient's bytes, groups - 1 times cross between nodes and
// arrive once in each group, instead of once for each solver elsewhere. Added
// is in the order of the solvers and then of the groups: the same bits in each
// run with the same groups. Each replica gets the same bits, for all apply the
// same sums.
//
// Thread safety: each solver is used by its own thread. Calls of sum() and
// meet() are made by all solvers in the same order. Source: after NUMA-Caffe
// (solver_groups.h); the slices are ours.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "training/numa/solver_groups.h"

namespace thermocline {

struct GroupedOptions {
  std::size_t parameters = 0;
  bool bind = true;  // threads and replicas to their nodes
};

class Solver {
 public:
  /// Of all solvers, those of group 0 first.
  int index() const { return index_; }
  int count() const { return count_; }
  /// Its group, and its place there.
  int group() const { return group_; }
  int place() const { return place_; }

  /// The parameters in this group's node; zeros at first.
  std::span<float> replica() const;
  /// The part of the replica that this solver changes.
  struct Slice {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  Slice slice() const;
  /// The gradients of all solvers, added; in this group's node, until the next
  /// call. Requires: as many as parameters.
  std::span<const float> sum(std::span<const float> gradient);
  /// Waits for all solvers.
  void meet();

 private:
  friend struct Hub;
  struct Hub* hub_ = nullptr;
  int index_ = 0;
  int count_ = 1;
  int group_ = 0;
  int place_ = 0;
};

struct GroupedReport {
  // Bytes of gradients that went from one group's memory to another's.
  std::size_t crossed_bytes = 0;
  std::size_t unbound = 0;  // threads that the kernel would not bind
  // Pages of replicas that lay on another node at the end.
  std::size_t astray = 0;
};

/// Runs `work` once for each solver, each on a thread of its own, and returns
/// when all have ended.
GroupedReport run_grouped(const std::vector<SolverGroup>& groups,
                          const GroupedOptions& options,
                          const std::function<void(Solver&)>& work);

}  // namespace thermocline
