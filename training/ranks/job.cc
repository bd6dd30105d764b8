#include "training/ranks/job.h"

#include <atomic>
#include <cstdio>
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

int run_program(const char* program, int threads,
                const std::function<Result<bool>(Ranks&)>& work) {
  std::atomic<bool> failed = false;
  const auto told = [&](Ranks& ranks) {
    const auto good = work(ranks);
    if (!good) {
      std::fprintf(stderr, "%s: rank %d: %s\n", program, ranks.rank(),
                   good.error().message.c_str());
    }
    if (!good || (ranks.rank() == 0 && !*good)) failed = true;
  };
  if (auto ok = run_job(threads, told); !ok) {
    std::fprintf(stderr, "%s: %s\n", program, ok.error().message.c_str());
    return 1;
  }
  return failed ? 1 : 0;
}

}  // namespace thermocline
