// measure_node: what one NUMA node's memory is worth, by trying.
//
// Latency by a pointer chase of one thread; bandwidth by sweeps of all the
// plan's threads, each over a part of its own: reads, ordinary stores, stores
// past the caches. This is the first of the measurements that `thermocline
// probe` is to make; a further one is a further function in probe_node.cc.
// Thread safety: call from one thread.
#pragma once

#include <optional>

#include "daemon/probe_passes.h"
#include "daemon/probe_plan.h"

namespace thermocline {

struct NodeFigures {
  Measured read_ns;
  Bytes chased = 0;   // memory that the chase went through
  Bytes through = 0;  // ... and that bandwidth was measured on
  Measured read_bytes_per_s;
  Measured write_bytes_per_s;  // ordinary stores
  // Past the caches; nothing where the processor has no such stores.
  std::optional<Measured> write_around_bytes_per_s;
  // Share of the time of bandwidth's repeats in which its threads ran, in the
  // worst of the medians. The chase goes by CPU time and needs no such share.
  double ran = 1;
};

/// The weight of a node's figures in a ProbePace.
int weight_of_node();

/// However late it is, for without them there is no Machine. Errors:
/// kInterrupted; those of take_memory() and run_together(). Then nothing of it
/// may be reported.
Result<NodeFigures> measure_node(Kernel& kernel, const NodePlan& plan,
                                 const ProbeOptions& options, ProbePace& pace);

}  // namespace thermocline
