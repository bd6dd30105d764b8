// CheckpointPool: a job's state in a file of slots, safe against a crash at
// any instant.
//
// After the dissertation of A. Wood (Boston University 2024) and its source,
// PyMM, in purpose: named arrays go to persistent memory as they are, without
// serialisation. PyMM overwrites in place, so that a crash is noticed but not
// undone without its undo log; here a save fills a slot that holds nothing
// needed, and one 8-byte store commits it. After PCcheck (ASPLOS 2025) there
// are N+1 slots, for N saves that are under way or complete.
//
//   auto pool = CheckpointPool::create("job.pool", {.slot_bytes = needed});
//   pool->save(pieces, step);                  // durable on return
//   auto back = pool->restore();               // after the crash
//
// Tensors, modules and optimizers: torch_checkpoint.h. Saving beside the
// training: background_saver.h. How often: checkpoint_interval.h.
// Thread safety: none; one thread at a time. Ownership: owns the mapping; what
// restore() and list() hand out points into it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "training/bandwidth.h"
#include "training/medium.h"
#include "training/slot_reader.h"

namespace thermocline {

class SlotWriter;

// A part of the state: bytes with a name.
struct Piece {
  std::string name;            // once in a checkpoint; "model.0.weight"
  std::string type = "bytes";  // or "float32", "int64", ... for a tensor
  std::vector<std::int64_t> shape = {};  // of a tensor: elements a dimension
  ByteSpan bytes = {};                   // not owned; little end first
  // Optional: a number that changes whenever the bytes do, and never comes
  // back for this name. Equal to that of an earlier save, not 0: the bytes are
  // not looked at.
  std::uint64_t version = 0;
  // The bytes change in the job's update alone, and nowhere else: parameters
  // and what an optimizer keeps. See LivePieces.
  bool steady = false;
};

// Pieces of which the steady ones may still be read when the job goes on, until
// its next update.
struct LivePieces {
  std::vector<Piece> pieces;
  // Whether the steady ones are as they were: asked on another thread, when
  // they have been copied. Keeps alive what they lie in. Errors: naming the one
  // that was written.
  std::function<Status()> unchanged;
};

struct PoolOptions {
  Bytes slot_bytes = 0;          // see slot_bytes_for(); rounded up to 4 KiB
  std::int64_t slots = 3;        // 2 suffice; 3: two whole ones at any time
  std::int64_t chunk_kib = 256;  // what has a checksum of its own
  void fields(auto& f) {
    f("slots", slots, std::int64_t{2}, std::int64_t{64},
      "checkpoints that the pool has room for, one of them being written");
    f("chunk_kib", chunk_kib, std::int64_t{4}, std::int64_t{65536},
      "KiB that share a checksum, and are written again together");
  }
};

struct SaveOptions {
  std::int64_t threads = 2;
  std::int64_t thread_kib = 1024;
  bool incremental = true;
  // Nanoseconds since 1970, for the listing alone; by default the system's.
  std::function<Nanos()> clock = {};
  // Asked before each chunk is written; none: nobody is.
  std::shared_ptr<Bandwidth> bandwidth = {};
  void fields(auto& f) {
    f("threads", threads, std::int64_t{1}, std::int64_t{256},
      "threads that copy and check; more than 4 slow Optane down");
    f("thread_kib", thread_kib, std::int64_t{0}, std::int64_t{1} << 30,
      "state for which one more of them is started; 0: always all");
    f("incremental", incremental,
      "do not write again what the slot already holds");
  }
};

struct Saved {
  std::uint64_t sequence = 0;
  Bytes payload = 0;  // of the state
  Bytes stored = 0;   // of it, what was not in the slot yet
};

struct Restored {
  std::uint32_t slot = 0;
  std::uint64_t sequence = 0;
  std::uint64_t step = 0;
  std::vector<Piece> pieces;        // views, valid until the next save
  std::vector<std::string> damage;  // what was passed over, a line each

  /// Null when there is none of that name.
  const Piece* find(const std::string& name) const;
  /// The damage as one line for a person, with the step that is gone on from
  /// instead; "" without any.
  std::string passed_over() const;
};

// What is to be told to whoever runs the job, a line at a time.
using Tell = std::function<void(const std::string&)>;
void tell_stderr(const std::string& line);

class CheckpointPool {
 public:
  /// A new pool, all of it on disk from the start. On a DAX device it lies at
  /// the beginning. Errors: kInvalid when the file exists, the device holds
  /// anything in its first page or is too small, or an option makes no sense;
  /// kIo when the disk is full.
  static Result<CheckpointPool> create(const std::string& path,
                                       const PoolOptions& pool,
                                       const SaveOptions& options = {});
  /// One that exists. Of its superblock there are two copies; a damaged one, or
  /// one that an older program did not write, is written again. Errors:
  /// kNotFound (also on a device whose first page is empty), kPermission,
  /// kInvalid when another process has it open to write; kCorrupt when it is no
  /// pool or was cut short.
  static Result<CheckpointPool> open(const std::string& path,
                                     const SaveOptions& options = {});
  /// To list, verify and restore; a job may be writing it meanwhile. Also a
  /// pool that was cut short: what is left of it. Errors: as open().
  static Result<CheckpointPool> open_to_read(const std::string& path,
                                             const SaveOptions& options = {});
  /// A new one at the beginning of a medium, as on a device.
  static Result<CheckpointPool> create_over(std::unique_ptr<Medium> medium,
                                            const PoolOptions& pool,
                                            const SaveOptions& options = {});
  /// Over any medium that holds a pool's bytes.
  static Result<CheckpointPool> over(std::unique_ptr<Medium> medium,
                                     const SaveOptions& options = {});
  CheckpointPool(CheckpointPool&&) noexcept;
  CheckpointPool& operator=(CheckpointPool&&) noexcept;
  ~CheckpointPool();

  /// Bytes that a slot needs for this state.
  static Bytes slot_bytes_for(std::span<const Piece> pieces,
                              const PoolOptions& pool = {});

  /// The state is durable on return (as far as durability() goes). `step` is
  /// the job's own. Errors: kInvalid when it does not fit, a name or a shape is
  /// too long (kMaxName, kMaxDimensions), the pool was opened to read or by
  /// another process (of which this one is a fork: both would write the same
  /// slots); kIo, also when the file was removed; kCorrupt when bad blocks, or
  /// the file being cut short, leave no slot for it. The checkpoints before it
  /// are untouched then.
  /// Cost: the first save to a pool that is not new, without restore(), reads
  /// its newest checkpoint: a damaged one is not kept in place of a whole one.
  Result<Saved> save(std::span<const Piece> pieces, std::uint64_t step);

  /// Saves from here on ask it before each chunk, as SaveOptions::bandwidth;
  /// null: nobody. Requires: no save is under way.
  void share(std::shared_ptr<Bandwidth> bandwidth);

  /// The newest checkpoint that is whole; every byte is checked. Errors:
  /// kNotFound when nothing was saved yet; kCorrupt when nothing is whole.
  /// The next save does not overwrite it.
  Result<Restored> restore();

  // How restore_into() is told what to do with a checkpoint. An error of either
  // ends it, and is its own.
  struct Into {
    // Where the pieces' bytes go, in their order; null: nowhere. Only names,
    // types, shapes and sizes are known to be right yet.
    std::function<Result<Places>(const Restored&)> places;
    // Optional. Now the pieces that go nowhere are whole; no other is copied.
    std::function<Status(const Restored&)> before_copy;
  };
  /// restore() that copies in the same pass, at half its cost. Where damage is
  /// met, what lies at the places may be changed already, and is changed again
  /// by the next older checkpoint. Errors: as restore(); then the places are
  /// left as they are, partly overwritten.
  Result<Restored> restore_into(const Into& into);

  // A checkpoint in memory of its own, which no save changes.
  struct Copied {
    Restored restored;  // its pieces are views of `bytes`
    std::vector<ByteVector> bytes;
  };
  /// restore() of a pool into which another process may be saving: a job that
  /// is looked at beside its training. Taken anew when so many saves came
  /// meanwhile that its slot may have been written again. Errors: as restore();
  /// kIo when that went on for ten times.
  Result<Copied> copy();

  struct Listed {
    std::uint32_t slot = 0;
    bool committed = false;  // a head names it, or did
    bool newest = false;     // what restore() tries first
    SlotContents contents;   // when `trouble` is empty
    std::string trouble;     // why it cannot be read
  };
  /// All slots that were ever written, newest first. Damage in payloads is
  /// not looked for.
  std::vector<Listed> list() const;
  /// Every byte of one slot. Errors: kNotFound, kCorrupt.
  Status verify(std::uint32_t slot) const;
  /// The pieces of one slot, checked; as restore().
  Result<Restored> restore_slot(std::uint32_t slot) const;

  /// Whether it can be saved to; then no other process does.
  bool writable() const { return writer_ != nullptr; }
  const Superblock& superblock() const { return block_; }
  Durability durability() const { return medium_->durability(); }

 private:
  CheckpointPool(std::unique_ptr<Medium> medium, const Superblock& block,
                 const SaveOptions& options, bool writable);
  static Result<CheckpointPool> take(std::unique_ptr<Medium> medium,
                                     const SaveOptions& options, bool writable);
  void write_superblocks();
  std::optional<std::uint32_t> choose_slot();
  Status commit(const Head& head);
  Restored restored(const SlotContents& contents) const;
  Result<Restored> taken(const Recovery& found);

  std::unique_ptr<Medium> medium_;
  Superblock block_;
  SaveOptions options_;
  std::unique_ptr<SlotWriter> writer_;  // null: opened to read
  pid_t opened_by_;
  std::vector<std::string> damage_;  // met when it was opened, a line each
  std::uint64_t last_sequence_ = 0;
  // The newest slot that is known to be whole: restore() found it so, or a
  // save of this very object has been committed to it.
  std::optional<std::uint32_t> whole_slot_;
  std::set<std::uint32_t> unusable_;  // slots with a bad block
};

}  // namespace thermocline
