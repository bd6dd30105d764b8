// What `thermocline evaluate` compares policies on: jobs from trace files.
//
// Thread safety: plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/world.h"
#include "policies/iteration.h"
#include "traces/watch.h"

namespace thermocline {

// Exactly one of the two: a step of tensors, or a run of pages.
struct EvaluatedJob {
  std::string name;
  std::optional<Iteration> step;
  std::optional<World> world;
};

struct EvaluatedJobs {
  std::vector<EvaluatedJob> jobs;
  std::vector<std::string> notes;  // what the user should know, a line each
};

/// A trace with tensors and operators is a job of tensors, unless `pages`; else
/// one with samples is a job of pages. Two traces of one command, recorded
/// all_slow and all_fast, make one job. `machine`: JSON text of the machine to
/// take instead of the traces' own; empty: theirs.
/// Errors, naming the file: as read_trace, Iteration and load_worlds; kInvalid
/// for a trace with neither, or one of no known machine.
Result<EvaluatedJobs> load_jobs(const std::vector<std::string>& paths,
                                const std::string& machine, bool pages,
                                const FileWatch& watch = {});

}  // namespace thermocline
