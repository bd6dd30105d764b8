// Checkpoint pools: a file as it comes; and directories whose checksums are
// right, in a pool where all else is.
#include <algorithm>
#include <cstring>

#include "tests/training/image.h"
#include "traces/crc32c.h"
#include "training/slot_reader.h"

namespace {

using namespace thermocline;

void as_it_comes(ByteSpan bytes) {
  const auto block = decode_superblock(bytes);
  if (!block) return;
  const Recovery found = recover(Image(bytes), *block, 1);
  if (found.newest) CHECK(found.newest->slot < block->slots);
}

void as_directory(ByteSpan bytes) {
  Superblock block;
  block.id = 1;
  block.slots = 2;
  block.slot_bytes = 4 * kPoolPage;
  block.chunk_bytes = 64;
  constexpr Bytes kAt = 2 * kPoolPage;
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), 2 * kPoolPage));
  ByteVector pool(block.pool_bytes());
  std::ranges::copy(encode_superblock(block), pool.begin());
  SlotHeader header;
  header.sequence = 1;
  header.directory_offset = kAt;
  header.directory_bytes = bytes.size();
  header.directory_crc = crc32c(bytes);
  std::uint8_t* slot = &pool[block.slot_offset(1)];
  std::ranges::copy(encode_slot_header(block.id, header), slot);
  std::ranges::copy(bytes, slot + kAt);
  const std::uint64_t word = encode_head(block.id, {1, 1});
  std::memcpy(&pool[head_offset(0)], &word, 8);
  const Recovery found = recover(Image(pool), block, 1);
  CHECK(found.newest || !found.damage.empty());
  if (!found.newest) return;
  for (const StoredPiece& piece : found.newest->pieces) {
    CHECK(piece.offset + piece.bytes <= block.slot_bytes);
  }
  CHECK(decode_directory(encode_directory(found.newest->pieces), block) ==
        found.newest->pieces);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  as_it_comes({data, size});
  as_directory({data, size});
  return 0;
}
