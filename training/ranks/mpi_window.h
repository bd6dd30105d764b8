// MpiWindow: a window over Open MPI's one-sided calls.
//
// Thread safety: as Window; all calls of MPI are made in the library's turn.
// Ownership: the library and the ranks outlive it.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "training/ranks/mpi_turn.h"
#include "training/ranks/ranks.h"

namespace thermocline {

// What the ranks of this process share: the right to call MPI, and the windows
// that a barrier makes visible.
struct MpiLibrary {
  MpiTurn turn;
  std::vector<MPI_Win> windows;
  bool failed = false;
};

/// MPI's text for one of its errors.
std::string mpi_text(int code);
/// MPI's counts are ints. Requires: n is one.
int mpi_count(std::size_t n);

class MpiWindow final : public Window {
 public:
  MpiWindow(MpiLibrary& library, Ranks& ranks)
      : library_(library), ranks_(ranks) {}
  ~MpiWindow() override;

  /// Over `memory`, or of so many bytes of zeros if it is to be its own.
  /// Collective. Errors: kIo.
  Status open(std::size_t bytes, std::span<std::byte> memory, bool own);

  std::span<std::byte> local() override { return local_; }
  void put(int rank, std::size_t offset,
           std::span<const std::byte> from) override;
  void get(int rank, std::size_t offset, std::span<std::byte> to) override;
  void add(int rank, std::size_t offset, std::span<const float> delta) override;
  void read(int rank, std::size_t offset, std::span<float> to) override;
  std::int64_t fetch_add(int rank, std::size_t offset,
                         std::int64_t delta) override;
  Status flush() override;

 private:
  enum class Kind { kPut, kGet, kAdd, kRead };
  struct Operation {
    Kind kind;
    int rank;
    std::size_t offset;
    const void* from;
    void* to;
    std::size_t bytes;
  };
  void check(int rank, std::size_t offset, std::size_t bytes) const;
  void start(const Operation& one);
  // Both in the library's turn.
  void start_waiting();
  void start_now(const Operation& one);
  void keep(int code) {
    if (error_ == MPI_SUCCESS) error_ = code;
  }

  MpiLibrary& library_;
  Ranks& ranks_;
  MPI_Win win_ = MPI_WIN_NULL;
  std::span<std::byte> local_;
  std::vector<std::uint64_t> sizes_;  // of all ranks' parts
  std::vector<Operation> waiting_;    // to be started, in this order
  int error_ = MPI_SUCCESS;           // the first since the last flush
};

}  // namespace thermocline
