// Reading a pool: which slots hold what, which of it is whole, and which
// checkpoint a job goes on from.
//
// A crash never leaves damage: as pools are written, each head word is one
// that was stored whole, and the newest names a slot whose every checksum is
// right. What is not so was damaged otherwise (a bad medium, a foreign
// program), and is said. Then the newest slot that is whole is taken, whether
// a head names it or not.
// Thread safety: pure, but for reading the medium.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "training/medium.h"
#include "training/pool_format.h"

namespace thermocline {

// Both head pages. A page never written has neither.
struct Heads {
  std::array<std::optional<Head>, 2> page;
  std::array<bool, 2> damaged{};

  /// The page of the newer head; nothing before the first save.
  std::optional<std::uint32_t> newest() const;
};
Heads read_heads(const Medium& medium, const Superblock& block);

struct SlotContents {
  std::uint32_t slot = 0;
  SlotHeader header;
  std::vector<StoredPiece> pieces;
};

/// Header and directory, both checked; the payload is not. Errors: kNotFound
/// when the slot was never written, kCorrupt.
Result<SlotContents> read_slot(const Medium& medium, const Superblock& block,
                               std::uint32_t slot);

/// Checks every byte of the payload. Errors: kCorrupt, naming the first piece
/// that is damaged and where.
Status verify_payload(const Medium& medium, const Superblock& block,
                      const SlotContents& contents, unsigned threads);

struct Recovery {
  std::optional<SlotContents> newest;  // whole; nothing: no checkpoint
  std::vector<std::string> damage;     // met on the way, a line each
};
Recovery recover(const Medium& medium, const Superblock& block,
                 unsigned threads);

/// The highest sequence number that any head or slot has, 0 if none.
std::uint64_t highest_sequence(const Medium& medium, const Superblock& block);

}  // namespace thermocline
