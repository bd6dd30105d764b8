// Threads as ranks: the whole of a distributed job in one process.
//
// For unit tests, where a run of any number of ranks costs no processes and
// the sanitizers see all of it, and for a job that was started without mpirun
// (one rank). Thread safety: as ranks.h says.
#pragma once

#include <functional>

#include "training/ranks/ranks.h"

namespace thermocline {

/// Runs `work` once for each of `count` ranks, each on a thread of its own,
/// and returns when all have ended. A rank that waits longer than `seconds` for
/// others gets an error. Requires: count >= 1.
void run_as_threads(int count, const std::function<void(Ranks&)>& work,
                    double seconds = 60);

/// One rank, alone.
std::unique_ptr<Ranks> single_rank();

}  // namespace thermocline
