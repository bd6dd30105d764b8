// run_job(): the same program under mpirun and without it.
#pragma once

#include <functional>

#include "training/ranks/ranks.h"

namespace thermocline {

/// Whether mpirun started this process, and so says how many ranks there are.
bool started_by_mpirun();

/// Runs `work` as one rank of the job that mpirun started; without mpirun, as
/// `threads` ranks of this process. Errors: kUnsupported under mpirun when
/// this was built without Open MPI, or with another version. Requires: under
/// mpirun, at most one call.
Status run_job(int threads, const std::function<void(Ranks&)>& work);

/// The same for main(): says on standard error, as `program`, what went wrong
/// and on which rank. Returns: the program's status, 0 when no rank's work
/// ended with an error and rank 0's ended with true.
int run_program(const char* program, int threads,
                const std::function<Result<bool>(Ranks&)>& work);

}  // namespace thermocline
