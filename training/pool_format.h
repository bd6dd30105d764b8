// What the bytes of a checkpoint pool are; POOL.md has the picture.
//
// A superblock, two head pages, and N+1 slots of equal size. All places are
// offsets, for a pool is mapped elsewhere each time. Every part carries a
// CRC-32C. The layout and the order in which it is written are after PCcheck
// (ASPLOS 2025) and Portus (ICDCS 2024); both leave open what a crash may do
// to the commit word, and PCcheck's stores an address without a checksum.
// Ours is eight bytes with a check of its own, in two pages by turns.
// Thread safety: pure functions. Little-endian machines only.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"
#include "traces/varint.h"

namespace thermocline {

static_assert(std::endian::native == std::endian::little);

inline constexpr Bytes kPoolPage = 4096;
inline constexpr std::uint32_t kPoolVersion = 1;
inline constexpr std::uint32_t kMaxSlots = 64;
inline constexpr std::uint64_t kMaxSequence = (std::uint64_t{1} << 40) - 1;
// Of a piece: bytes of its name and of its type, and dimensions. More is taken
// for damage by those who read.
inline constexpr Bytes kMaxName = 4096;
inline constexpr Bytes kMaxDimensions = 64;

// In the first page, and once more at kSecondSuperblock; never changed.
struct Superblock {
  std::uint64_t id = 0;  // of this pool; slots and heads of another are foreign
  std::uint32_t slots = 0;
  Bytes slot_bytes = 0;   // a multiple of kPoolPage
  Bytes chunk_bytes = 0;  // what has a checksum of its own

  Bytes slot_offset(std::uint32_t slot) const {
    return 3 * kPoolPage + slot * slot_bytes;
  }
  Bytes pool_bytes() const { return slot_offset(slots); }
};

inline constexpr Bytes kSuperblockBytes = 52;
// Where the other copy lies: in a head page, of which the head has 8 bytes, and
// in a sector of its own. Pools of older programs have zeros there.
inline constexpr Bytes kSecondSuperblock = 2 * kPoolPage + kPoolPage / 2;

std::array<std::uint8_t, kPoolPage> encode_superblock(const Superblock& block);
/// Of the copy that `bytes` begin with. The pool itself may have fewer bytes
/// than pool_bytes(). Errors: kCorrupt, naming what it found; of another
/// version, kUnsupported.
Result<Superblock> decode_superblock(ByteSpan bytes);

/// Where head page 0 or 1 has its word.
constexpr Bytes head_offset(std::uint32_t page) {
  return (1 + page) * kPoolPage;
}

// What a head word says: the slot that was committed, and as which.
struct Head {
  std::uint64_t sequence = 0;  // from 1; at most kMaxSequence
  std::uint32_t slot = 0;
};
std::uint64_t encode_head(std::uint64_t pool_id, const Head& head);
/// Nothing when the word is not one that encode_head() makes.
std::optional<Head> decode_head(std::uint64_t pool_id, std::uint64_t word);

// The first bytes of a slot.
struct SlotHeader {
  std::uint64_t sequence = 0;
  std::uint64_t step = 0;      // the job's own count
  Nanos saved_at = 0;          // since 1970
  Bytes payload_bytes = 0;     // of all pieces, without gaps
  Bytes directory_offset = 0;  // from the slot's beginning
  Bytes directory_bytes = 0;
  std::uint32_t directory_crc = 0;
};
inline constexpr Bytes kSlotHeaderBytes = 72;
std::array<std::uint8_t, kSlotHeaderBytes> encode_slot_header(
    std::uint64_t pool_id, const SlotHeader& header);
/// Nothing when it is none of this pool's, or its directory lies outside the
/// slot.
std::optional<SlotHeader> decode_slot_header(const Superblock& block,
                                             ByteSpan slot);

// One named run of bytes within a slot.
struct StoredPiece {
  std::string name;
  std::string type;                 // "float32", "bytes"; see checkpoint.h
  std::vector<std::int64_t> shape;  // elements a dimension; none: a scalar
  Bytes offset = 0;                 // from the slot's beginning
  Bytes bytes = 0;
  std::vector<std::uint32_t> crcs;  // of each chunk

  bool operator==(const StoredPiece&) const = default;
};

/// Chunks of a piece: all but the last have chunk_bytes.
constexpr Bytes chunks_of(Bytes bytes, Bytes chunk_bytes) {
  return (bytes + chunk_bytes - 1) / chunk_bytes;
}

ByteVector encode_directory(const std::vector<StoredPiece>& pieces);
/// Nothing when it is no directory, or a piece lies outside its slot.
std::optional<std::vector<StoredPiece>> decode_directory(
    ByteSpan bytes, const Superblock& block);

}  // namespace thermocline
