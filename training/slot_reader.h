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
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/medium.h"
#include "training/pool_format.h"

namespace thermocline {

/// Whether all of the first page is zeros. That is no pool, whatever comes
/// after it: so a device is emptied.
bool first_page_is_empty(const Medium& medium);

/// By the first copy, or by the second where the first is damaged. The medium
/// may have fewer bytes than it says (a file that was cut short); what reads
/// slots and heads asks before it reads. Errors: kCorrupt, kUnsupported.
Result<Superblock> read_superblock(const Medium& medium);

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

// Where the pieces of a slot are to go, in their order; null, or past the end:
// nowhere.
using Places = std::vector<std::uint8_t*>;

/// Checks every byte of the payload, but of what has a place, which
/// copy_payload() checks. Errors: kCorrupt, naming the first piece that is
/// damaged and where.
Status verify_payload(const Medium& medium, const Superblock& block,
                      const SlotContents& contents, unsigned threads,
                      const Places& places = {});
/// Copies what has a place, each chunk when it has been checked, so that memory
/// is read once. Errors: as verify_payload(); some of it is copied then.
Status copy_payload(const Medium& medium, const Superblock& block,
                    const SlotContents& contents, unsigned threads,
                    const Places& places);

struct Recovery {
  std::optional<SlotContents> newest;  // whole; nothing: no checkpoint
  std::vector<std::string> damage;     // met on the way, a line each
};
/// `check`: whether a slot's payload is whole.
Recovery recover(const Medium& medium, const Superblock& block,
                 const std::function<Status(const SlotContents&)>& check);
/// By verify_payload().
Recovery recover(const Medium& medium, const Superblock& block,
                 unsigned threads);

/// The sequence number in a slot's header, 0 if it has none that can be read.
std::uint64_t sequence_in(const Medium& medium, const Superblock& block,
                          std::uint32_t slot);
/// The highest sequence number that any head or slot has, 0 if none.
std::uint64_t highest_sequence(const Medium& medium, const Superblock& block);

}  // namespace thermocline
