// PerfSource: what the word "perf[:WORDS]" of --source asks for.
//
// WORDS are separated by commas: events (see perf_events.h, each with
// "@PERIOD"), "budget=P%" (of a core, that sampling may cost; default 1 %),
// "cgroup=PATH" (sample on all CPUs whatever runs in that cgroup) and
// "sequences=on" (accesses in a row besides; see sequence_source.h).
//
// Thread safety: pure.
#pragma once

#include <string>

#include "traces/result.h"

namespace thermocline {

struct PerfSource {
  std::string events;   // a list for perf_events()
  double share = 0.01;  // of a core
  std::string cgroup;   // its directory; empty: the target's threads
  bool sequences = false;
};

/// `words`: what follows "perf:". `cgroups`: where the hierarchies of cgroups
/// are mounted, for a PATH that is not a directory by itself. Errors: kInvalid,
/// kNotFound.
Result<PerfSource> parse_perf_source(
    const std::string& words, const std::string& cgroups = "/sys/fs/cgroup");

}  // namespace thermocline
