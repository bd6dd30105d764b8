// Ranks: the workers of one job, and memory of theirs that the others reach.
//
// What exchange, loops and parameters need of a distributed machine, and no
// more: one-sided windows and a barrier. Two implementations: threads of this
// process (thread_ranks.h; unit tests, and a job started without mpirun) and
// Open MPI (mpi_ranks.h). A window may lie over memory that the caller placed,
// so what others write arrives in the tier that it was given.
//
// Thread safety: each rank uses its own Ranks from one thread at a time.
// Collective calls (barrier, window, sum, gather) are made by all ranks in the
// same order. Errors: a rank that does not come is an error within the time
// limit, naming it; after an error the job must end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "traces/result.h"

namespace thermocline {

// One piece of memory per rank, open to all. Offsets and sizes in bytes;
// beyond the end of the other's memory: CHECK. Destroyed by all ranks together.
//
// put, get, add and read only start; flush() waits until they are done, and
// says whether they went through. Until then the caller's memory must stay.
class Window {
 public:
  virtual ~Window() = default;
  Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  /// This rank's own part. What others have put and flushed before a barrier
  /// is seen after it.
  virtual std::span<std::byte> local() = 0;

  virtual void put(int rank, std::size_t offset,
                   std::span<const std::byte> from) = 0;
  virtual void get(int rank, std::size_t offset, std::span<std::byte> to) = 0;
  /// Adds, each element atomically with other add() and read() calls.
  virtual void add(int rank, std::size_t offset,
                   std::span<const float> delta) = 0;
  /// As get(), each element atomically with add().
  virtual void read(int rank, std::size_t offset, std::span<float> to) = 0;
  /// Adds to an integer and returns what it was before; done on return.
  virtual std::int64_t fetch_add(int rank, std::size_t offset,
                                 std::int64_t delta) = 0;
  /// Errors: kIo, of any operation since the last flush().
  virtual Status flush() = 0;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Returns when all ranks are here. Errors: kIo when one does not come
  /// within the time limit.
  virtual Status barrier() = 0;

  /// A window of `bytes` of zeros; ranks may ask for different sizes.
  virtual Result<std::unique_ptr<Window>> window(std::size_t bytes) = 0;
  /// A window over the caller's memory, which must outlive it.
  virtual Result<std::unique_ptr<Window>> window_over(
      std::span<std::byte> memory) = 0;

  /// One number of each rank, in their order. Also a barrier.
  virtual Result<std::vector<std::int64_t>> gather(std::int64_t mine) = 0;

  /// The sum over all ranks, in place, added in the order of the ranks: the
  /// same bits on every rank, and again in the next run.
  virtual Status sum(std::span<float> values) = 0;
};

/// The bytes of an array, for put() and get().
template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace thermocline
