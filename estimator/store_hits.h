// Store hits: stores that found their line in a cache, as evidence of which
// memory a job writes.
//
// Where data lie is nothing to an access that a cache serves; estimators count
// those that memory served. But a line that was loaded and then written goes
// back, and of that a PMU shows the store only, which hit
// (MEM_INST_RETIRED:ALL_STORES samples those as well, and says so of each).
// How many a block of memory gets, beside the lines that come from it, bounds
// what part of these can be dirty.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "estimator/access_classes.h"
#include "traces/trace.h"

namespace thermocline {

/// The samples that memory served; what else the trace has, unchanged.
Trace from_memory(const Trace& trace);

/// Stores that hit, of a trace.
std::vector<Sample> store_hits(const Trace& trace);

/// By class: of the lines that its accesses bring in, which part can have been
/// written while it was in the cache. Requires: traces without store hits, in
/// the addresses of `hits`; all of both runs.
std::vector<double> written_share(const AccessClasses& classes,
                                  const Trace& slow, const Trace& fast,
                                  const std::vector<Sample>& hits);

/// The same as a trace's sequences tell it: of each sample's lines, how many
/// are written while they are in the cache; below 0: not told. Requires: a
/// trace that streams' unseen lines were put back into (streams.h).
std::vector<double> written_in_sequences(const AccessClasses& classes,
                                         const Trace& trace);

}  // namespace thermocline
