// measure_operations: how fast one kind of memory does what ML programs do.
//
// Each of estimator/memory_operations.h, by 1, 2, 4, ... and by all threads, in
// memory larger than the caches and in a little; and one that is no pass over
// memory: taking it (allocate and first touch). A place is a NUMA node, or what
// probe_file.h maps.
// Thread safety: call from one thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/probe_loaded.h"
#include "daemon/probe_node.h"

namespace thermocline {

struct OperationFigure {
  std::string title;  // "gather of 256 B", "first touch", "persist by 4096 B"
  std::string name;   // "gather"
  Bytes unit = 0;
  Bytes bytes = 0;  // that were gone through, by all threads together
  std::size_t threads = 1;
  Measured bytes_per_s;  // of bytes that were wanted
};

struct PlaceFigures {
  std::string place;        // "node 0", "/mnt/pmem"
  bool durable = false;     // persisted bytes survive a power cut
  std::string granularity;  // of a file: "page", "line", "byte"
  std::vector<OperationFigure> figures;
  std::vector<LoadedFigure> loaded = {};  // of a node
  int left_out = 0;                       // figures for which there was no time
  bool unknown = false;  // not durable: whether they survive one is not known

  /// The figure for the most bytes; null when it was not measured.
  const OperationFigure* find(const std::string& title,
                              std::size_t threads) const;
  /// Thread counts that were measured, ascending.
  std::vector<std::size_t> threads() const;
};

/// On a node. Errors: as measure_node(). Requires, here and below: plan has at
/// least one CPU.
Result<PlaceFigures> measure_node_operations(Kernel& kernel,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             ProbePace& pace);

/// memory_operations() on any memory, added `to` the figures of a place.
/// Errors: kInterrupted; those of run_together(). Requires: at least kPassGrain
/// for each of the plan's threads.
Status measure_operations(std::span<float> memory, const NodePlan& plan,
                          const ProbeOptions& options, ProbePace& pace,
                          PlaceFigures& to);

/// Powers of two up to all, and all: memory that a few threads write fastest is
/// found to within a factor of two. Requires: all > 0.
std::vector<std::size_t> thread_counts(std::size_t all);

/// How long a repeat is to take, where the time allows.
inline double wanted_seconds(const ProbeOptions& options) {
  return options.quick ? 0.005 : 0.02;
}

/// Weights in a ProbePace: of memory_operations(), and of all of a node's.
int weight_of_operations(const NodePlan& plan);
int weight_of_node_operations(const NodePlan& plan);

}  // namespace thermocline
