// measure_node: what one NUMA node's memory is worth, by trying.
//
// Latency by a pointer chase of one thread; bandwidth by sweeps of all the
// plan's threads, each over a part of its own: reads, ordinary stores, stores
// past the caches. This is the first of the measurements that `thermocline
// probe` is to make; a further one is a further function in probe_node.cc.
// Thread safety: call from one thread; the atomic may be set from any, also
// from a signal handler.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "daemon/probe_plan.h"

namespace thermocline {

// Repeated measurements, in one number. The median, for what disturbs a
// measurement disturbs some repeats; half of what lies between the least and
// the most, over the median, as their spread (0 for a single one).
struct Measured {
  double median = 0;
  double spread = 0;
};

/// Requires: at least one value, all of them above 0.
Measured summary(std::vector<double> values);

struct NodeFigures {
  Measured read_ns;
  Bytes chased = 0;  // memory that the chase went through
  Measured read_bytes_per_s;
  Measured write_bytes_per_s;  // ordinary stores
  // Past the caches; nothing where the processor has no such stores.
  std::optional<Measured> write_around_bytes_per_s;
  // Share of the time of bandwidth's repeats in which its threads ran, in the
  // worst of the medians. The chase goes by CPU time and needs no such share.
  double ran = 1;
};

struct ProbeWatch {
  const std::atomic<bool>& stop;                      // true: give up
  std::function<void(const std::string&)> beginning;  // a step, by its name
  std::function<void(int)> planned = {};  // optional: steps there will be
};

/// How many times ProbeWatch::beginning is called for one node.
int steps_per_node(const ProbeOptions& options);

/// Errors: kInterrupted; those of BoundMemory and run_together(). Then nothing
/// of it may be reported.
Result<NodeFigures> measure_node(Kernel& kernel, const NodePlan& plan,
                                 const ProbeOptions& options,
                                 const ProbeWatch& watch);

}  // namespace thermocline
