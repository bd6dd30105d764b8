#include "training/slot_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "traces/crc32c.h"
#include "training/copy_pieces.h"
#include "training/parallel.h"
#include "training/pmem_library.h"

namespace thermocline {
namespace {

struct Chunk {
  std::uint32_t piece = 0;
  std::uint32_t number = 0;
};

std::string slot_name(std::uint32_t slot) {
  return "slot " + std::to_string(slot);
}

// Loadable, and there at all: a pool may have been cut short before it was
// opened.
Status reachable(const Medium& medium, Bytes offset, Bytes size) {
  const Bytes end = medium.bytes().size();
  if (offset <= end && size <= end - offset) {
    return medium.loadable(offset, size);
  }
  return corrupt("its bytes " + std::to_string(offset) + " to " +
                 std::to_string(offset + size) +
                 " are not there: the file was cut short");
}

// What there is of it.
ByteSpan slot_bytes(const Medium& medium, const Superblock& block,
                    std::uint32_t slot) {
  const ByteSpan all = medium.bytes();
  const Bytes begin = std::min<Bytes>(block.slot_offset(slot), all.size());
  return all.subspan(begin, std::min(block.slot_bytes, all.size() - begin));
}

Result<Superblock> superblock_at(const Medium& medium, Bytes offset) {
  const ByteSpan all = medium.bytes();
  const ByteSpan copy = all.subspan(std::min<Bytes>(offset, all.size()));
  if (copy.size() >= kSuperblockBytes) {
    if (auto ok = medium.loadable(offset, kSuperblockBytes); !ok) {
      return ok.error();
    }
  }
  return decode_superblock(copy);
}

using Check = std::function<Status(const SlotContents&)>;

// What a head promises: the slot, with that sequence, whole.
Result<SlotContents> read_committed(const Medium& medium,
                                    const Superblock& block, const Head& head,
                                    const Check& check) {
  if (head.slot >= block.slots) {
    return corrupt("a head names " + slot_name(head.slot) + " of " +
                   std::to_string(block.slots));
  }
  auto contents = read_slot(medium, block, head.slot);
  if (!contents) {
    return corrupt(slot_name(head.slot) + " should hold checkpoint " +
                   std::to_string(head.sequence) + ": " +
                   contents.error().message);
  }
  if (contents->header.sequence != head.sequence) {
    return corrupt(slot_name(head.slot) + " holds checkpoint " +
                   std::to_string(contents->header.sequence) +
                   ", its head says " + std::to_string(head.sequence));
  }
  if (auto ok = check(*contents); !ok) {
    return ok.error().within(slot_name(head.slot));
  }
  return contents;
}

// The newest whole slot, whatever the heads say.
std::optional<SlotContents> search(const Medium& medium,
                                   const Superblock& block,
                                   const Check& check) {
  std::vector<SlotContents> all;
  for (std::uint32_t slot = 0; slot < block.slots; ++slot) {
    auto contents = read_slot(medium, block, slot);
    if (contents) all.push_back(*std::move(contents));
  }
  std::ranges::sort(all, std::ranges::greater(), [](const SlotContents& one) {
    return one.header.sequence;
  });
  for (SlotContents& one : all) {
    if (check(one)) return std::move(one);
  }
  return std::nullopt;
}

// Checks the chunks of the pieces that `is_meant` (by their number), and does
// `work` with each that is right: piece, offset in it, bytes.
template <typename Meant, typename Work>
Status each_chunk(const Medium& medium, const Superblock& block,
                  const SlotContents& contents, unsigned threads,
                  Meant is_meant, Work work) {
  const ByteSpan bytes = slot_bytes(medium, block, contents.slot);
  std::vector<Chunk> chunks;
  Bytes most = 0;
  for (std::uint32_t piece = 0; piece < contents.pieces.size(); ++piece) {
    if (!is_meant(piece)) continue;
    most += contents.pieces[piece].bytes;
    const auto count =
        static_cast<std::uint32_t>(contents.pieces[piece].crcs.size());
    for (std::uint32_t i = 0; i < count; ++i) chunks.push_back({piece, i});
  }
  const Bytes base = block.slot_offset(contents.slot);
  std::atomic<std::size_t> first_bad{chunks.size()};
  const auto begin_of = [&](const Chunk& chunk) {
    return chunk.number * block.chunk_bytes;
  };
  const auto bytes_of = [&](const Chunk& chunk) {
    const StoredPiece& piece = contents.pieces[chunk.piece];
    const Bytes at = begin_of(chunk);
    return bytes.subspan(piece.offset + at,
                         std::min(block.chunk_bytes, piece.bytes - at));
  };
  const auto loadable = [&](const Chunk& chunk) {
    const StoredPiece& piece = contents.pieces[chunk.piece];
    return medium.loadable(base + piece.offset + begin_of(chunk),
                           bytes_of(chunk).size());
  };
  const auto look = [&](std::size_t i) {
    const Chunk& chunk = chunks[i];
    const auto there = bytes_of(chunk);
    if (loadable(chunk) &&
        crc32c(there) == contents.pieces[chunk.piece].crcs[chunk.number]) {
      return work(chunk.piece, begin_of(chunk), there);
    }
    auto seen = first_bad.load();
    while (i < seen && !first_bad.compare_exchange_weak(seen, i)) {
    }
  };
  in_parallel(threads_for(most, threads), chunks.size(), look, finish_streams);
  if (first_bad == chunks.size()) return {};
  const Chunk bad = chunks[first_bad];
  const auto there = loadable(bad);
  return corrupt("\"" + contents.pieces[bad.piece].name + "\" is damaged (" +
                 (there ? "checksum" : there.error().message) +
                 "), from its byte " + std::to_string(begin_of(bad)));
}

std::uint8_t* place_of(const Places& places, std::uint32_t piece) {
  return piece < places.size() ? places[piece] : nullptr;
}

}  // namespace

bool first_page_is_empty(const Medium& medium) {
  const auto page =
      medium.bytes().first(std::min<Bytes>(kPoolPage, medium.bytes().size()));
  return medium.loadable(0, page.size()) &&
         std::ranges::all_of(page, [](std::uint8_t byte) { return byte == 0; });
}

Result<Superblock> read_superblock(const Medium& medium) {
  auto first = superblock_at(medium, 0);
  if (first || first.error().code != Error::Code::kCorrupt ||
      first_page_is_empty(medium)) {
    return first;
  }
  auto second = superblock_at(medium, kSecondSuperblock);
  return second ? second : first;
}

std::optional<std::uint32_t> Heads::newest() const {
  if (!page[0] && !page[1]) return std::nullopt;
  if (!page[0]) return 1;
  if (!page[1]) return 0;
  return page[0]->sequence > page[1]->sequence ? 0 : 1;
}

Heads read_heads(const Medium& medium, const Superblock& block) {
  Heads out;
  for (std::uint32_t page = 0; page < 2; ++page) {
    std::uint64_t word = 0;
    const bool there = reachable(medium, head_offset(page), 8).has_value();
    if (there) {
      std::memcpy(&word, medium.bytes().data() + head_offset(page), 8);
      out.page[page] = decode_head(block.id, word);
    }
    out.damaged[page] = !there || (word != 0 && !out.page[page]);
  }
  return out;
}

Result<SlotContents> read_slot(const Medium& medium, const Superblock& block,
                               std::uint32_t slot) {
  const ByteSpan bytes = slot_bytes(medium, block, slot);
  const Bytes base = block.slot_offset(slot);
  if (auto ok = reachable(medium, base, kSlotHeaderBytes); !ok) {
    return ok.error();
  }
  const ByteSpan first = bytes.first(kSlotHeaderBytes);
  if (std::ranges::all_of(first, [](std::uint8_t byte) { return byte == 0; })) {
    return not_found("nothing was ever saved here");
  }
  SlotContents out;
  out.slot = slot;
  const auto header = decode_slot_header(block, bytes);
  if (!header) return corrupt("its header is damaged");
  out.header = *header;
  if (auto ok = reachable(medium, base + header->directory_offset,
                          header->directory_bytes);
      !ok) {
    return ok.error();
  }
  const auto directory =
      bytes.subspan(header->directory_offset, header->directory_bytes);
  if (crc32c(directory) != header->directory_crc) {
    return corrupt("its directory is damaged, or is being overwritten");
  }
  auto pieces = decode_directory(directory, block);
  if (!pieces) return corrupt("its directory makes no sense");
  for (const StoredPiece& piece : *pieces) {
    if (piece.offset + piece.bytes > bytes.size()) {
      return corrupt("\"" + piece.name +
                     "\" is not all there: the file was "
                     "cut short");
    }
  }
  out.pieces = *std::move(pieces);
  return out;
}

Status verify_payload(const Medium& medium, const Superblock& block,
                      const SlotContents& contents, unsigned threads,
                      const Places& places) {
  return each_chunk(
      medium, block, contents, threads,
      [&](std::uint32_t piece) { return place_of(places, piece) == nullptr; },
      [](std::uint32_t, Bytes, ByteSpan) {});
}

Status copy_payload(const Medium& medium, const Superblock& block,
                    const SlotContents& contents, unsigned threads,
                    const Places& places) {
  std::vector<PieceCopy> all;
  const Bytes base = block.slot_offset(contents.slot);
  for (std::uint32_t i = 0; i < contents.pieces.size(); ++i) {
    const StoredPiece& piece = contents.pieces[i];
    if (auto* to = place_of(places, i)) {
      all.push_back(
          {to, medium.bytes().subspan(base + piece.offset, piece.bytes)});
    }
  }
  return each_chunk(
      medium, block, contents, overlap(all) ? 1 : threads,
      [&](std::uint32_t piece) { return place_of(places, piece) != nullptr; },
      [&](std::uint32_t piece, Bytes at, ByteSpan chunk) {
        stream_copy(places[piece] + at, chunk.data(), chunk.size());
      });
}

Recovery recover(const Medium& medium, const Superblock& block,
                 unsigned threads) {
  return recover(medium, block, [&](const SlotContents& contents) {
    return verify_payload(medium, block, contents, threads);
  });
}

Recovery recover(const Medium& medium, const Superblock& block,
                 const Check& check) {
  Recovery out;
  const Heads heads = read_heads(medium, block);
  for (std::uint32_t page = 0; page < 2; ++page) {
    if (heads.damaged[page]) {
      out.damage.push_back("head page " + std::to_string(page) + " is damaged");
    }
  }
  if (const auto newest = heads.newest()) {
    auto found = read_committed(medium, block, *heads.page[*newest], check);
    if (found) out.newest = *std::move(found);
    if (!found) out.damage.push_back(found.error().message);
  }
  // A damaged head may have been the newest.
  if (!out.damage.empty()) {
    auto found = search(medium, block, check);
    const auto known = out.newest ? out.newest->header.sequence : 0;
    if (found && found->header.sequence > known) out.newest = std::move(found);
  }
  return out;
}

std::uint64_t sequence_in(const Medium& medium, const Superblock& block,
                          std::uint32_t slot) {
  if (!reachable(medium, block.slot_offset(slot), kSlotHeaderBytes)) return 0;
  const auto header =
      decode_slot_header(block, slot_bytes(medium, block, slot));
  return header ? header->sequence : 0;
}

std::uint64_t highest_sequence(const Medium& medium, const Superblock& block) {
  std::uint64_t out = 0;
  for (const auto& head : read_heads(medium, block).page) {
    if (head) out = std::max(out, head->sequence);
  }
  for (std::uint32_t slot = 0; slot < block.slots; ++slot) {
    out = std::max(out, sequence_in(medium, block, slot));
  }
  return out;
}

}  // namespace thermocline
