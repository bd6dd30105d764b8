// load_worlds: from trace files to what an agent can be trained on.
//
// A job recorded all in slow and all in fast memory (Trace::Info::placement)
// of one machine makes one world with both endpoints measured. A trace without
// its counterpart makes one whose other endpoint is modelled.
#pragma once

#include <string>
#include <vector>

#include "agent/world.h"
#include "traces/result.h"

namespace thermocline {

struct TraceWorlds {
  std::vector<World> worlds;
  // What the user should know, a line each: modelled endpoints, damage, jobs
  // that were no faster in fast memory.
  std::vector<std::string> notes;
};

/// Errors, each naming the file: what read_trace and Differential say; kInvalid
/// for a trace without samples, and when an all_slow and an all_fast trace are
/// left over that are of different commands. `machine`: JSON text of the
/// machine to take instead of the traces' own; empty: theirs.
Result<TraceWorlds> load_worlds(const std::vector<std::string>& paths,
                                Differential::Options options,
                                const std::string& machine = {});

}  // namespace thermocline
