// measure_operations: how fast one kind of memory does what ML programs do.
//
// Each of estimator/memory_operations.h, by one thread, by some and by all, in
// memory larger than the caches and in a little; and two that are no pass over
// memory: taking it (allocate and first touch), and making it survive
// (persist: write, then sync). A place is a NUMA node, or a file that is
// mapped: on DAX its own memory, elsewhere the page cache and the way to disk.
// Thread safety: call from one thread; the atomic as in probe_node.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/probe_loaded.h"
#include "daemon/probe_node.h"
#include "training/medium.h"

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
                                             const ProbeWatch& watch);

/// In a file in `folder`, which is removed at the end. Errors: those of
/// MappedFile, run_together(); kInterrupted.
Result<PlaceFigures> measure_file_operations(const std::string& folder,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             const ProbeWatch& watch);

/// How many times ProbeWatch::beginning is called for a node; for a file.
int steps_per_node_operations(const NodePlan& plan);
int steps_per_file_operations(const NodePlan& plan);

}  // namespace thermocline
