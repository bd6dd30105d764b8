// Ranks over Open MPI's one-sided operations.
//
// On one host windows are shared memory and nobody has to help. Between hosts
// over TCP, Open MPI 4.1 has one component that works (osc pt2pt): it refuses
// MPI_THREAD_MULTIPLE, and the target must call MPI for an operation on it to
// advance. Hence MPI_THREAD_SERIALIZED, one lock around every call, and there
// a thread that polls. (Open MPI 4.1.4: help-osc-pt2pt.txt; issue #2614.)
//
// A rank that is killed ends the job: mpirun kills the others, for Open MPI
// 4.1 has no fault tolerance. A rank that hangs is named by barrier(); the
// destructor then aborts the job, since no orderly end is possible.
// Thread safety: as ranks.h says. The only file that calls MPI.
#pragma once

#include "training/ranks/ranks.h"

namespace thermocline {

struct MpiOptions {
  double barrier_seconds = 60;  // for a rank to reach a barrier
  bool poll = false;  // poll also on one host; set if osc pt2pt was forced
};

/// Joins the job that mpirun started; without mpirun, a job of one rank. At
/// most once in a process, and MPI ends with what is returned.
/// Errors: kUnsupported when Open MPI is too old or not what was built with.
Result<std::unique_ptr<Ranks>> join_mpi(const MpiOptions& options = {});

}  // namespace thermocline
