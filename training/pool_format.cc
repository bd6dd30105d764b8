#include "training/pool_format.h"

#include <cstring>
#include <string_view>

#include "traces/crc32c.h"

namespace thermocline {
namespace {

constexpr std::string_view kPoolMagic = "thermocline pool";
constexpr std::uint64_t kSlotMagic = 0x746f6c735f636d74;  // "tmc_slot"

// Numbers one after the other, little end first, and a CRC-32C of them.
class Writer {
 public:
  explicit Writer(std::uint8_t* to) : from_(to), at_(to) {}
  void text(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <typename T>
  void put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void seal() { put(crc32c({from_, static_cast<std::size_t>(at_ - from_)})); }

 private:
  std::uint8_t* from_;
  std::uint8_t* at_;
};

class Reader {
 public:
  explicit Reader(const std::uint8_t* from) : from_(from), at_(from) {}
  template <typename T>
  T get() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  bool sealed() {
    const auto sum = crc32c({from_, static_cast<std::size_t>(at_ - from_)});
    return get<std::uint32_t>() == sum;
  }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  const std::uint8_t* from_;
  const std::uint8_t* at_;
};

// 18 bits that tell a head word from chance and from another pool's.
std::uint64_t head_check(std::uint64_t pool_id, std::uint64_t words) {
  std::uint8_t raw[16];
  std::memcpy(raw, &pool_id, 8);
  std::memcpy(raw + 8, &words, 8);
  return crc32c(raw) & 0x3ffff;
}

void put_text(ByteVector& to, const std::string& text) {
  put_varint(to, text.size());
  put_bytes(to,
            {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string take_text(ByteReader& from) {
  const auto size = from.varint();
  if (size > kMaxName) from.fail();
  if (!from.ok()) return {};
  const ByteSpan text = from.take(size);
  return {text.begin(), text.end()};
}

StoredPiece take_piece(ByteReader& from, const Superblock& block) {
  StoredPiece out;
  out.name = take_text(from);
  out.type = take_text(from);
  const auto dimensions = from.varint();
  if (dimensions > kMaxDimensions) from.fail();
  for (Bytes i = 0; from.ok() && i < dimensions; ++i) {
    out.shape.push_back(static_cast<std::int64_t>(unfold(from.varint())));
  }
  out.offset = from.varint();
  out.bytes = from.varint();
  if (out.offset > block.slot_bytes ||
      out.bytes > block.slot_bytes - out.offset) {
    from.fail();
  }
  if (!from.ok()) return {};
  const auto chunks = chunks_of(out.bytes, block.chunk_bytes);
  const ByteSpan crcs = from.take(chunks * 4);
  if (!from.ok()) return {};
  out.crcs.resize(chunks);
  if (chunks > 0) std::memcpy(out.crcs.data(), crcs.data(), crcs.size());
  return out;
}

}  // namespace

std::array<std::uint8_t, kPoolPage> encode_superblock(const Superblock& block) {
  std::array<std::uint8_t, kPoolPage> out{};
  Writer writer(out.data());
  writer.text(kPoolMagic);
  writer.put(kPoolVersion);
  writer.put(block.slots);
  writer.put(block.id);
  writer.put(block.slot_bytes);
  writer.put(block.chunk_bytes);
  writer.seal();
  return out;
}

Result<Superblock> decode_superblock(ByteSpan bytes) {
  if (bytes.size() < kSuperblockBytes ||
      std::memcmp(bytes.data(), kPoolMagic.data(), kPoolMagic.size()) != 0) {
    return corrupt("it is not a checkpoint pool; check its name");
  }
  Reader reader(bytes.data());
  reader.skip(kPoolMagic.size());
  const auto version = reader.get<std::uint32_t>();
  Superblock out;
  out.slots = reader.get<std::uint32_t>();
  out.id = reader.get<std::uint64_t>();
  out.slot_bytes = reader.get<Bytes>();
  out.chunk_bytes = reader.get<Bytes>();
  if (!reader.sealed()) {
    return corrupt(
        "its first page is damaged (checksum), so no slot can be found; go on "
        "from a copy of the pool, or begin a new one");
  }
  if (version != kPoolVersion) {
    return unsupported("it is a checkpoint pool of version " +
                       std::to_string(version) + ", this program reads " +
                       std::to_string(kPoolVersion) +
                       "; export it with the version that wrote it");
  }
  if (out.slots < 2 || out.slots > kMaxSlots || out.chunk_bytes == 0 ||
      out.slot_bytes == 0 || out.slot_bytes % kPoolPage != 0 ||
      out.slot_bytes > (Bytes{1} << 56)) {
    return corrupt(
        "its first page makes no sense; go on from a copy of the pool, or "
        "begin a new one");
  }
  return out;
}

// Bits 24 to 63: sequence; 18 to 23: slot; 0 to 17: check.
std::uint64_t encode_head(std::uint64_t pool_id, const Head& head) {
  CHECK(head.sequence > 0 && head.sequence <= kMaxSequence &&
        head.slot < kMaxSlots);
  const std::uint64_t word = head.sequence << 24 | std::uint64_t{head.slot}
                                                       << 18;
  return word | head_check(pool_id, word);
}

std::optional<Head> decode_head(std::uint64_t pool_id, std::uint64_t word) {
  const std::uint64_t check = word & 0x3ffff;
  if (word >> 24 == 0 || head_check(pool_id, word & ~check) != check) {
    return std::nullopt;
  }
  return Head{word >> 24, static_cast<std::uint32_t>(word >> 18 & 0x3f)};
}

std::array<std::uint8_t, kSlotHeaderBytes> encode_slot_header(
    std::uint64_t pool_id, const SlotHeader& header) {
  std::array<std::uint8_t, kSlotHeaderBytes> out{};
  Writer writer(out.data());
  writer.put(kSlotMagic);
  writer.put(pool_id);
  writer.put(header.sequence);
  writer.put(header.step);
  writer.put(header.saved_at);
  writer.put(header.payload_bytes);
  writer.put(header.directory_offset);
  writer.put(header.directory_bytes);
  writer.put(header.directory_crc);
  writer.seal();
  return out;
}

std::optional<SlotHeader> decode_slot_header(const Superblock& block,
                                             ByteSpan slot) {
  if (slot.size() < kSlotHeaderBytes) return std::nullopt;
  Reader reader(slot.data());
  if (reader.get<std::uint64_t>() != kSlotMagic) return std::nullopt;
  if (reader.get<std::uint64_t>() != block.id) return std::nullopt;
  SlotHeader out;
  out.sequence = reader.get<std::uint64_t>();
  out.step = reader.get<std::uint64_t>();
  out.saved_at = reader.get<Nanos>();
  out.payload_bytes = reader.get<Bytes>();
  out.directory_offset = reader.get<Bytes>();
  out.directory_bytes = reader.get<Bytes>();
  out.directory_crc = reader.get<std::uint32_t>();
  if (!reader.sealed() || out.directory_offset > block.slot_bytes ||
      out.directory_bytes > block.slot_bytes - out.directory_offset) {
    return std::nullopt;
  }
  return out;
}

ByteVector encode_directory(const std::vector<StoredPiece>& pieces) {
  ByteVector out;
  put_varint(out, pieces.size());
  for (const StoredPiece& piece : pieces) {
    put_text(out, piece.name);
    put_text(out, piece.type);
    put_varint(out, piece.shape.size());
    for (const auto length : piece.shape) {
      put_varint(out, fold(static_cast<std::uint64_t>(length)));
    }
    put_varint(out, piece.offset);
    put_varint(out, piece.bytes);
    put_bytes(out, {reinterpret_cast<const std::uint8_t*>(piece.crcs.data()),
                    piece.crcs.size() * 4});
  }
  return out;
}

std::optional<std::vector<StoredPiece>> decode_directory(
    ByteSpan bytes, const Superblock& block) {
  ByteReader from(bytes);
  const auto count = from.varint();
  std::vector<StoredPiece> out;
  for (Bytes i = 0; from.ok() && i < count; ++i) {
    out.push_back(take_piece(from, block));
  }
  if (!from.ok() || !from.empty()) return std::nullopt;
  return out;
}

}  // namespace thermocline
