#include "training/ranks/job.h"

#include <cstdlib>

#include "training/ranks/thread_ranks.h"
#ifdef THERMOCLINE_MPI
#include "training/ranks/mpi_ranks.h"
#endif

namespace thermocline {

bool started_by_mpirun() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;
}

Status run_job(int threads, const std::function<void(Ranks&)>& work) {
  if (!started_by_mpirun()) {
    run_as_threads(threads, work);
    return {};
  }
#ifdef THERMOCLINE_MPI
  auto ranks = join_mpi();
  if (!ranks) return ranks.error();
  work(**ranks);
  return {};
#else
  return unsupported(
      "built without Open MPI; install libopenmpi-dev and build again");
#endif
}

}  // namespace thermocline
