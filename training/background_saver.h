// BackgroundSaver: saves beside the training.
//
// Training waits only for a snapshot, a copy in DRAM; one thread then writes
// it to the pool while the next steps run (CheckFreq, FAST 2021: snapshot and
// persist, pipelined with compute). It takes as much DRAM as the state, from
// the first save on. A save that is not done when the next begins is waited
// for, and that wait is told: checkpoint_interval.h keeps it away.
// Thread safety: none; one thread at a time, and the pool belongs to this
// object while a save is under way. Ownership: neither owns the pool nor, once
// begin() has returned, needs the pieces.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "training/checkpoint.h"

namespace thermocline {

class BackgroundSaver {
 public:
  explicit BackgroundSaver(CheckpointPool& pool, unsigned threads = 2)
      : pool_(pool), threads_(threads) {}
  BackgroundSaver(const BackgroundSaver&) = delete;
  BackgroundSaver& operator=(const BackgroundSaver&) = delete;
  /// Waits for the save under way; an error of it is lost, so wait() first.
  ~BackgroundSaver() = default;

  struct Begun {
    double waited_s = 0;    // for the save before
    double snapshot_s = 0;  // to copy
    // Of the save before, when there was one: until it was durable.
    std::optional<double> before_full_s;
  };
  /// Returns when the state may change again. Errors: those of the save
  /// before; nothing is begun then, and the next call begins afresh.
  Result<Begun> begin(std::span<const Piece> pieces, std::uint64_t step);

  /// Waits for the save under way. Returns: what became of the last one;
  /// nothing when there was none. Errors: its own, once.
  Result<std::optional<Saved>> wait();

 private:
  void snapshot(std::span<const Piece> pieces);

  CheckpointPool& pool_;
  unsigned threads_;
  std::unique_ptr<std::uint8_t[]> copy_;
  Bytes copy_bytes_ = 0;
  std::vector<Piece> pieces_;  // views of copy_
  double full_s_ = 0;
  std::optional<Result<Saved>> outcome_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace thermocline
