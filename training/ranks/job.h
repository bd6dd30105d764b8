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

}  // namespace thermocline
