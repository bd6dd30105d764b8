// SlotWriter: fills one slot of a pool with a job's state.
//
// The payload goes first, cut into chunks that several threads copy and sum
// at once; then the directory and the header. Nothing of it counts until a
// head names the slot, so the order within is free. What the slot still holds
// from an earlier save of this very writer, and has not changed since, is not
// written again: it is compared byte by byte (reading is several times cheaper
// than writing on persistent memory, and the first difference ends it), or
// believed when the caller's version says so.
// Thread safety: none; starts threads of its own.
#pragma once

#include <map>
#include <span>

#include "training/checkpoint.h"
#include "training/medium.h"
#include "training/pool_format.h"

namespace thermocline {

class SlotWriter {
 public:
  SlotWriter(Medium& medium, const Superblock& block,
             const SaveOptions& options)
      : medium_(medium),
        block_(block),
        threads_(static_cast<unsigned>(options.threads)),
        thread_bytes_(static_cast<Bytes>(options.thread_kib) << 10),
        incremental_(options.incremental),
        bandwidth_(options.bandwidth) {}

  /// Bytes of a slot that this state needs.
  static Bytes slot_bytes_for(std::span<const Piece> pieces, Bytes chunk_bytes);

  /// SaveOptions::bandwidth, from here on. Requires: no write() is under way.
  void share(std::shared_ptr<Bandwidth> bandwidth) {
    bandwidth_ = std::move(bandwidth);
  }

  struct Written {
    Bytes payload = 0;  // of all pieces
    Bytes stored = 0;   // of them, those that were not there yet
  };
  /// All is stored and fenced, and durable on return (for kPage, synced).
  /// Errors: kInvalid when the state does not fit, a name is there twice, or
  /// one could not be read again (kMaxName, kMaxDimensions), and nothing is
  /// written; kIo, and the slot is worthless. Others are untouched.
  Result<Written> write(std::uint32_t slot, std::span<const Piece> pieces,
                        const SlotHeader& header);

 private:
  struct Known {
    std::vector<StoredPiece> pieces;
    std::vector<std::uint64_t> versions;
  };
  struct Chunk {
    std::uint32_t piece = 0;
    Bytes at = 0;
    bool compare = false;
  };
  std::vector<Chunk> plan(std::vector<StoredPiece>& layout,
                          std::span<const Piece> pieces,
                          const Known* known) const;
  Bytes copy(std::uint32_t slot, std::span<const Piece> pieces,
             std::vector<StoredPiece>& layout,
             const std::vector<Chunk>& chunks);

  Medium& medium_;
  Superblock block_;
  unsigned threads_;
  Bytes thread_bytes_;
  bool incremental_;
  std::shared_ptr<Bandwidth> bandwidth_;  // may be null
  std::map<std::uint32_t, Known> known_;  // slots that this writer filled
};

}  // namespace thermocline
