// Phases: the parts of a job that must not share a window, matched between its
// runs.
//
// A set-up that gains nothing from fast memory and a solver that is three times
// as fast there (miniFE on KNL: 1.0x and 3.0x, the set-up with a twentieth of
// the solver's samples a second) are two jobs; a window over both would let the
// one's samples share in the other's gain.
//
// Where the runs have marks, these tell: a phase lasts while marks are of one
// name but for a number ("step 1", "step 2"); runs that passed other marks, or
// in another order, are refused. Without marks the sample rate tells
// (rate_changes.h). Where instructions were counted, a change that is clear in
// one run is taken to be at the same instruction in all: memory may pace a run
// so that its rate hides it. Where not, changes are paired in order where they
// lie at like shares of the samples; a change that is clear in one run and that
// another has no counterpart to is refused. One that is not so clear, and that
// not all runs have, is taken for noise.
//
// Thread safety: pure functions. Times are of each trace's own clock.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

// A run of the job, and what messages call it.
struct NamedRun {
  std::string name;  // "slow"
  const Trace* trace = nullptr;
};

struct Phases {
  // One a phase, in order; at least one. Names repeat where a phase does.
  std::vector<std::string> names;
  // pins[run][phase]: the phase's start, the marks in it, and its end, which is
  // the next one's start; never decreasing. The first is the job's start, the
  // last is start plus measured run time.
  std::vector<std::vector<std::vector<Nanos>>> pins;
};

/// Requires: runs with samples, sorted. `split`: false makes one phase of the
/// job, pinned by marks where all runs passed the same ones. Errors: kInvalid,
/// naming what differs first, where the runs' phases do not match.
Result<Phases> match_phases(std::span<const NamedRun> runs, bool split);

}  // namespace thermocline
