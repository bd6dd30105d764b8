// bare_put: what a loop of MPI_Put reaches with nothing of ours in the process,
// neither lock nor polling thread: rank 0 puts into rank 1, which waits in a
// barrier. `tests/bench/put_speed` sets it beside our windows.
#include <mpi.h>

#include "tests/bench/put_loop.h"

int main(int argc, char** argv) {
  using thermocline::kLargestPut;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(kLargestPut, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                   &window);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  if (rank == 0 && size > 1) {
    const std::vector<std::byte> from(kLargestPut);
    thermocline::measure_puts(
        [&](std::size_t bytes) {
          const int n = static_cast<int>(bytes);
          MPI_Put(from.data(), n, MPI_BYTE, 1, 0, n, MPI_BYTE, window);
        },
        [&] { MPI_Win_flush_all(window); });
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return size > 1 ? 0 : 1;
}
