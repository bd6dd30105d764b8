// RowHeat: how often the rows that lie with each rank are read and changed, by
// all ranks.
//
// One-sided operations are not seen where they arrive. So each rank counts what
// it does to whose rows, and now and then adds the counts to a window of the
// rank that has them, which tells its host's daemon. Which rows are sent and
// fetched anew is decided by importance (pending.h), so importance is heat.
//
// Counts are per 64 KiB of memory. Thread safety: one thread per rank.
// Ownership: the listener outlives it.
#pragma once

#include "training/placement/access_listener.h"
#include "training/ranks/ranks.h"

namespace thermocline {

class RowHeat {
 public:
  /// Collective. `rows`: this rank's, as the others reach them.
  static Result<RowHeat> make(Ranks& ranks, std::span<const std::byte> rows,
                              AccessListener& listener);

  /// This rank reads or changes a row of another, or its own.
  void read(int rank, std::size_t offset, std::size_t bytes);
  void changed(int rank, std::size_t offset, std::size_t bytes);
  /// When the listener is due: hands the counts over, and tells it of what has
  /// come for the rows here. Errors: of the window.
  Status tell();

 private:
  RowHeat() = default;
  // Loads and stores, by 64 KiB.
  using Counts = std::vector<float>;
  void count(int rank, std::size_t offset, std::size_t which, double lines);
  Status hand_over();
  Status take();

  int rank_ = 0;
  std::span<const std::byte> rows_;
  AccessListener* listener_ = nullptr;
  std::unique_ptr<Window> window_;
  std::vector<std::size_t> leads_;  // by rank
  std::vector<Counts> counts_;      // likewise
};

}  // namespace thermocline
