// BackgroundSaver: saves beside the training.
//
// Training waits only for a snapshot, a copy in DRAM; one thread then writes
// it to the pool while the next steps run (CheckFreq, FAST 2021: snapshot and
// persist, pipelined with compute). It takes as much DRAM as the state, from
// the first save on. A save that is not done when the next begins is waited
// for, and that wait is told: checkpoint_interval.h keeps it away.
//
// begin() copies all before it returns. begin_beside() copies the small rest
// and leaves the steady pieces to the thread, beside the next forward and
// backward; the job says before_update() when it is about to write them:
//
//   saver.begin_beside(*state.live(), step);
//   ...forward, backward...
//   saver.before_update();
//   optimizer.step();
//
// A copy that an update got into is never committed: LivePieces::unchanged
// finds the write, and a before_update() that was left out is an error of the
// next begin, whether or not harm came of it.
// Thread safety: none; one thread at a time, and the pool belongs to this
// object while a save is under way. Ownership: does not own the pool; needs
// pieces until begin() has returned, steady ones of begin_beside() until
// before_update() has.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "training/checkpoint.h"
#include "training/copy_pieces.h"

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
  };
  /// Returns when the state may change again. Errors: those of the save
  /// before; nothing is begun then, and the next call begins afresh. kInvalid
  /// when begin_beside() was followed by neither before_update() nor wait().
  Result<Begun> begin(std::span<const Piece> pieces, std::uint64_t step);
  /// Returns when all but the steady pieces may change again. Errors: as
  /// begin(); the save fails when a steady one was written too early.
  Result<Begun> begin_beside(const LivePieces& live, std::uint64_t step);
  /// Call before each update of the state, whether or not a save began since
  /// the last. Returns: the seconds that it waited, for the copy alone.
  double before_update();

  struct Finished {
    double held_s = 0;  // what training waited: the copy, and before_update()
    double full_s = 0;  // from the copy's begin until it was durable
  };
  /// Of the last save that is durable, once each; nothing before that. Does not
  /// wait: ask after each iteration, for CheckpointInterval::saved(). A save
  /// that begin() or wait() waited for is told here, too. Errors: of the save,
  /// which begin() and wait() then do not tell again.
  Result<std::optional<Finished>> finished();

  /// Waits for the save under way. Returns: what became of the last one;
  /// nothing when there was none. Errors: its own, once.
  Result<std::optional<Saved>> wait();

 private:
  struct Copies {
    std::vector<PieceCopy> now, later;
  };
  Copies make_room(std::span<const Piece> pieces);
  Result<std::optional<Saved>> outcome();
  Result<Begun> begin(std::span<const Piece> pieces,
                      std::function<Status()> unchanged, std::uint64_t step);

  CheckpointPool& pool_;
  unsigned threads_;
  std::unique_ptr<std::uint8_t[]> copy_;
  Bytes copy_bytes_ = 0;
  std::vector<Piece> pieces_;  // views of copy_
  double held_s_ = 0;          // by the save under way
  double full_s_ = 0;
  std::optional<Finished> finished_;  // joined, not told yet
  std::optional<Result<Saved>> outcome_;
  // before_update() is owed for a save that began beside.
  bool owed_ = false;
  std::atomic<bool> copied_{true};
  std::atomic<bool> done_{false};  // the thread is at its end
  std::jthread thread_;            // last: it uses all of the above
};

}  // namespace thermocline
