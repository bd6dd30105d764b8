// Blocks: what a trace file is made of, framed, checked and compressed.
//
// FORMAT.md has the bytes. A block is written by one write(2), so that a
// recorder killed at any instant leaves whole blocks and at most one cut one.
// Thread safety: pure functions; a Packer belongs to one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "traces/types.h"
#include "traces/varint.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace thermocline {

// Kinds are never renumbered or reused; a reader skips those it does not know.
enum class BlockKind : std::uint8_t {
  kInfo = 1,
  kMappings = 2,
  kTensors = 3,
  kOperators = 4,
  kMarks = 5,
  kCounters = 6,
  kSamples = 7,
  kLosses = 8,
  kEnd = 9,
  kPeriods = 10,
  kSequences = 11,
};

/// "samples", ...; "unknown kind 77" for one from the future.
std::string block_kind_name(std::uint8_t kind);

inline constexpr std::uint16_t kFormatMajor = 1;
inline constexpr std::uint16_t kFormatMinor = 3;
inline constexpr Bytes kFileHeaderBytes = 16;
inline constexpr Bytes kBlockHeaderBytes = 20;
// No block unpacks to more than this, whatever its header says.
inline constexpr Bytes kMaxBlockBytes = Bytes{16} << 20;

/// The first bytes of every trace file.
std::array<std::uint8_t, kFileHeaderBytes> file_header();

struct FileVersion {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
enum class HeaderFault { kNone, kForeign, kShort, kChecksum };
/// What the first bytes of a file say; they may be fewer than a header.
HeaderFault read_file_header(ByteSpan bytes, FileVersion& version);

enum class Codec : std::uint8_t { kStored = 0, kZstd = 1 };

struct BlockHeader {
  std::uint8_t kind = 0;
  std::uint8_t codec = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t payload_crc = 0;
};
/// Nothing when the header's own checksum does not match.
/// Requires: kBlockHeaderBytes bytes.
std::optional<BlockHeader> read_block_header(ByteSpan bytes);

// Lets go of Zstandard's contexts.
struct FreeContext {
  void operator()(ZSTD_CCtx_s* context) const;
  void operator()(ZSTD_DCtx_s* context) const;
};

// Makes blocks out of payloads. Holds the compressor's working memory.
class Packer {
 public:
  Packer();
  /// Header and payload, compressed where that helps; valid until the next
  /// call. Requires: at most kMaxBlockBytes.
  ByteSpan pack(std::uint8_t kind, ByteSpan payload);

 private:
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;
  ByteVector out_;
};

// Restores payloads. Holds the decompressor's working memory.
class Unpacker {
 public:
  Unpacker();
  /// The payload, valid until the next call or as long as `stored`; nothing
  /// when it does not unpack to exactly the promised length.
  /// Requires: header.raw_bytes at most kMaxBlockBytes.
  std::optional<ByteSpan> unpack(const BlockHeader& header, ByteSpan stored);

 private:
  std::unique_ptr<ZSTD_DCtx_s, FreeContext> context_;
  ByteVector out_;
};

}  // namespace thermocline
