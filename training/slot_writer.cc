#include "training/slot_writer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <set>

#include "traces/crc32c.h"
#include "training/parallel.h"

namespace thermocline {
namespace {

// Optane's own block: smaller writes are read, changed and written back.
constexpr Bytes kAlignment = 256;

// Pieces from here on begin at a page: a write to a file that ends within one
// is followed by another to the same page, which may be on its way to the disk
// by then, and the kernel keeps small pages for it. It takes a fifth longer.
constexpr Bytes kPaged = Bytes{64} << 10;

Bytes aligned(Bytes bytes, Bytes to = kAlignment) {
  return (bytes + to - 1) / to * to;
}

std::vector<StoredPiece> lay_out(std::span<const Piece> pieces,
                                 Bytes chunk_bytes, bool paged) {
  std::vector<StoredPiece> out;
  Bytes offset = aligned(kSlotHeaderBytes);
  for (const Piece& piece : pieces) {
    if (paged && piece.bytes.size() >= kPaged) {
      offset = aligned(offset, kPoolPage);
    }
    StoredPiece stored{piece.name, piece.type,         piece.shape,
                       offset,     piece.bytes.size(), {}};
    stored.crcs.resize(chunks_of(stored.bytes, chunk_bytes));
    offset = aligned(offset + stored.bytes);
    out.push_back(std::move(stored));
  }
  return out;
}

Bytes end_of(const std::vector<StoredPiece>& layout) {
  if (layout.empty()) return aligned(kSlotHeaderBytes);
  return aligned(layout.back().offset + layout.back().bytes);
}

Bytes bytes_of(const std::vector<StoredPiece>& layout) {
  return aligned(end_of(layout) + encode_directory(layout).size(), kPoolPage);
}

// For a message; cut between characters (UTF-8).
std::string shortened(const std::string& name) {
  std::size_t end = 40;
  if (name.size() <= end) return name;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) {
    --end;
  }
  return name.substr(0, end) + "...";
}

Status check(const Piece& piece) {
  const std::string& longer =
      piece.name.size() > kMaxName ? piece.name : piece.type;
  if (longer.size() > kMaxName) {
    return invalid("the " +
                   std::string(&longer == &piece.name ? "name" : "type") +
                   " of the piece \"" + shortened(piece.name) + "\" has " +
                   std::to_string(longer.size()) + " bytes; shorten it to " +
                   std::to_string(kMaxName) + " at most");
  }
  if (piece.shape.size() > kMaxDimensions) {
    return invalid("\"" + shortened(piece.name) + "\" has " +
                   std::to_string(piece.shape.size()) +
                   " dimensions; save it in a shape of " +
                   std::to_string(kMaxDimensions) + " at most");
  }
  return {};
}

Status check(std::span<const Piece> pieces) {
  std::set<std::string_view> names;
  for (const Piece& piece : pieces) {
    if (auto ok = check(piece); !ok) return ok;
    if (!names.insert(piece.name).second) {
      return invalid("two pieces of the checkpoint are named \"" + piece.name +
                     "\"; give each a name of its own");
    }
  }
  return {};
}

}  // namespace

Bytes SlotWriter::slot_bytes_for(std::span<const Piece> pieces,
                                 Bytes chunk_bytes) {
  return bytes_of(lay_out(pieces, chunk_bytes, /*paged=*/true));
}

std::vector<SlotWriter::Chunk> SlotWriter::plan(
    std::vector<StoredPiece>& layout, std::span<const Piece> pieces,
    const Known* known) const {
  std::vector<Chunk> out;
  for (std::uint32_t i = 0; i < layout.size(); ++i) {
    const StoredPiece* before = nullptr;
    if (known != nullptr && i < known->pieces.size()) {
      before = &known->pieces[i];
      if (before->name != layout[i].name || before->bytes != layout[i].bytes ||
          before->offset != layout[i].offset) {
        before = nullptr;
      }
    }
    if (before != nullptr && pieces[i].version != 0 &&
        pieces[i].version == known->versions[i]) {
      layout[i].crcs = before->crcs;
      continue;
    }
    for (Bytes at = 0; at < layout[i].bytes; at += block_.chunk_bytes) {
      out.push_back({i, at, before != nullptr});
    }
  }
  return out;
}

// Returns: the bytes that were stored.
Bytes SlotWriter::copy(std::uint32_t slot, std::span<const Piece> pieces,
                       std::vector<StoredPiece>& layout,
                       const std::vector<Chunk>& chunks) {
  const Bytes base = block_.slot_offset(slot);
  const ByteSpan there = medium_.bytes().subspan(base, block_.slot_bytes);
  const auto size_of = [&](const Chunk& chunk) {
    return std::min(block_.chunk_bytes, layout[chunk.piece].bytes - chunk.at);
  };
  Bytes most = 0;
  for (const Chunk& chunk : chunks) most += size_of(chunk);
  std::atomic<Bytes> stored{0};
  in_parallel(
      threads_for(most, threads_, thread_bytes_), chunks.size(),
      [&](std::size_t i) {
        const Chunk& chunk = chunks[i];
        StoredPiece& to = layout[chunk.piece];
        const Bytes size = size_of(chunk);
        const auto from = pieces[chunk.piece].bytes.subspan(chunk.at, size);
        to.crcs[chunk.at / block_.chunk_bytes] = crc32c(from);
        const Bytes offset = to.offset + chunk.at;
        if (chunk.compare &&
            std::memcmp(there.data() + offset, from.data(), size) == 0) {
          return;
        }
        if (bandwidth_ != nullptr) bandwidth_->take(size);
        medium_.write(base + offset, from);
        stored += size;
      },
      [&] { medium_.fence(); });
  return stored;
}

Result<SlotWriter::Written> SlotWriter::write(std::uint32_t slot,
                                              std::span<const Piece> pieces,
                                              const SlotHeader& wanted) {
  if (auto ok = check(pieces); !ok) return ok.error();
  auto layout = lay_out(pieces, block_.chunk_bytes, /*paged=*/true);
  if (bytes_of(layout) > block_.slot_bytes) {  // a pool of an older version
    layout = lay_out(pieces, block_.chunk_bytes, /*paged=*/false);
  }
  const Bytes needed = bytes_of(layout);
  if (needed > block_.slot_bytes) {
    return invalid("the state needs " + std::to_string(needed) +
                   " bytes, a slot of this pool has " +
                   std::to_string(block_.slot_bytes) +
                   "; create a pool with larger slots");
  }
  // Until this save is whole, nobody knows what the slot holds.
  const auto found = known_.extract(slot);
  const bool compare = incremental_ && !found.empty();
  const auto chunks = plan(layout, pieces, compare ? &found.mapped() : nullptr);
  const Bytes base = block_.slot_offset(slot);
  // Nothing is here until all is: what a kill leaves is no damaged checkpoint.
  medium_.write(base, std::array<std::uint8_t, kSlotHeaderBytes>{});
  medium_.fence();
  Written out;
  out.stored = copy(slot, pieces, layout, chunks);
  for (const Piece& piece : pieces) out.payload += piece.bytes.size();

  const ByteVector directory = encode_directory(layout);
  SlotHeader header = wanted;
  header.payload_bytes = out.payload;
  header.directory_offset = end_of(layout);
  header.directory_bytes = directory.size();
  header.directory_crc = crc32c(directory);
  medium_.write(base + header.directory_offset, directory);
  medium_.write(base, encode_slot_header(block_.id, header));
  medium_.fence();
  if (auto ok = medium_.sync(base, header.directory_offset + directory.size());
      !ok) {
    return ok.error();
  }
  Known known{std::move(layout), {}};
  for (const Piece& piece : pieces) known.versions.push_back(piece.version);
  known_[slot] = std::move(known);
  return out;
}

}  // namespace thermocline
