#include <algorithm>
#include <bit>
#include <cstring>

#include "traces/block.h"
#include "traces/byte_source.h"
#include "traces/crc32c.h"
#include "traces/event_codec.h"
#include "traces/sample_codec.h"
#include "traces/trace_file.h"
#include "traces/trace_invariants.h"

namespace thermocline {
namespace {

// A block of a few bytes can truly hold megabytes (all samples alike), so what
// a file may unpack to is bounded, generously: see read_trace.
constexpr Bytes kDecodedBase = Bytes{1} << 30;
constexpr Bytes kDecodedPerByte = Bytes{16} << 10;
// Several times what a writer puts into one block.
constexpr Bytes kMaxBlockDecoded = Bytes{64} << 20;

class Reader {
 public:
  Reader(const ByteSource& source, const std::string& name)
      : source_(source), name_(name) {}

  Result<ReadTrace> read(const Watch& watch = {}) {
    if (auto status = header(); !status) return status.error();
    while (block()) {
      if (watch && !watch(offset_, source_.size())) {
        return interrupted("stopped while reading " + name_);
      }
    }
    if (out_.damage.empty() && !out_.trace.end.known) {
      out_.damage = name_ + ": cut at byte " + std::to_string(offset_) +
                    ": no end block, its recorder was killed or is still "
                    "running; everything before it was read";
    }
    out_.file_bytes = source_.size();
    out_.dropped = restore_invariants(out_.trace);
    return std::move(out_);
  }

 private:
  // All of `into`, or as much as there is.
  Result<ByteSpan> bytes(Bytes offset, std::span<std::uint8_t> into) {
    auto got = source_.read(offset, into);
    if (!got) return got.error();
    return ByteSpan(into.first(*got));
  }

  Status header() {
    std::array<std::uint8_t, kFileHeaderBytes> head{};
    const auto got = bytes(0, head);
    if (!got) return got.error();
    FileVersion version;
    if (got->empty()) return corrupt(name_ + ": empty, so not a trace");
    switch (read_file_header(*got, version)) {
      case HeaderFault::kForeign:
        return corrupt(name_ + ": not a trace; `thermocline record` makes one");
      case HeaderFault::kShort:
        return corrupt(name_ + ": cut at byte " + std::to_string(got->size()) +
                       ", within the header; nothing of it can be read");
      case HeaderFault::kChecksum:
        return corrupt(name_ +
                       ": damaged at byte 0: checksum mismatch in the "
                       "header; nothing of it can be read");
      case HeaderFault::kNone: break;
    }
    if (version.major > kFormatMajor) {
      return unsupported(
          name_ + ": trace format " + std::to_string(version.major) + "." +
          std::to_string(version.minor) +
          " is newer than this program, which reads " +
          std::to_string(kFormatMajor) + ".x; install a newer thermocline");
    }
    offset_ = kFileHeaderBytes;
    return {};
  }

  // Sets the damage; always false.
  bool damaged(const char* word, const std::string& cause) {
    out_.damage = name_ + ": " + word + " at byte " + std::to_string(offset_) +
                  ": " + cause + "; everything before it was read";
    return false;
  }
  std::string here(std::uint8_t kind) const {
    return "block " + std::to_string(out_.blocks + 1) + " (" +
           block_kind_name(kind) + ")";
  }
  std::string here() const {
    return "block " + std::to_string(out_.blocks + 1);
  }

  // Reads the next block; false at the end and at damage.
  bool block() {
    std::array<std::uint8_t, kBlockHeaderBytes> head{};
    const auto got = bytes(offset_, head);
    if (!got) return damaged("unreadable", got.error().message);
    if (got->empty()) return false;
    if (out_.trace.end.known) {
      return damaged("damaged", "bytes follow the end block");
    }
    if (got->size() < head.size()) {
      return damaged("cut", "the header of " + here() + " is incomplete");
    }
    const auto header = read_block_header(head);
    if (!header) {
      return damaged("damaged", "checksum mismatch in the header of " + here());
    }
    if (header->raw_bytes > kMaxBlockBytes ||
        header->stored_bytes > kMaxBlockBytes) {
      return damaged("damaged", here(header->kind) + " claims to be larger " +
                                    "than a block can be (16 MiB)");
    }
    return payload(*header);
  }

  bool payload(const BlockHeader& header) {
    if (stored_.size() < header.stored_bytes) {
      stored_.resize(header.stored_bytes);
    }
    const auto got = bytes(offset_ + kBlockHeaderBytes,
                           std::span(stored_).first(header.stored_bytes));
    if (!got) return damaged("unreadable", got.error().message);
    if (got->size() < header.stored_bytes) {
      return damaged("cut", here(header.kind) + " is incomplete");
    }
    if (crc32c(*got) != header.payload_crc) {
      return damaged("damaged", "checksum mismatch in " + here(header.kind));
    }
    if (header.codec > static_cast<std::uint8_t>(Codec::kZstd)) {
      ++out_.skipped;
    } else {
      const auto raw = unpacker_.unpack(header, *got);
      if (!raw) {
        return damaged("damaged", here(header.kind) + " does not unpack");
      }
      if (const auto why = decode(header.kind, *raw); !why.empty()) {
        return damaged("damaged",
                       here(header.kind) + " is malformed (" + why + ")");
      }
    }
    ++out_.blocks;
    offset_ += kBlockHeaderBytes + header.stored_bytes;
    return true;
  }

  // The block's events into the trace, or why not; then none of them.
  std::string decode(std::uint8_t kind, ByteSpan raw) {
    Trace& trace = out_.trace;
    switch (static_cast<BlockKind>(kind)) {
      case BlockKind::kInfo: return decode_one(raw, trace.info);
      case BlockKind::kMappings: return decode_all(raw, trace.mappings);
      case BlockKind::kTensors: return decode_all(raw, trace.tensors);
      case BlockKind::kOperators: return decode_all(raw, trace.operators);
      case BlockKind::kMarks: return decode_all(raw, trace.marks);
      case BlockKind::kCounters: return decode_all(raw, trace.counters);
      case BlockKind::kLosses: return decode_all(raw, trace.losses);
      case BlockKind::kPeriods: return decode_all(raw, trace.periods);
      case BlockKind::kSequences: return decode_all(raw, trace.sequences);
      case BlockKind::kSamples: return decode_these(raw, trace.samples);
      case BlockKind::kEnd: {
        auto why = decode_one(raw, trace.end);
        trace.end.known = why.empty();
        return why;
      }
    }
    ++out_.skipped;
    return {};
  }

  Bytes allowance() const {
    const Bytes total = kDecodedBase + kDecodedPerByte * offset_;
    return std::min(kMaxBlockDecoded, total - std::min(total, decoded_));
  }

  template <typename Event>
  std::string decode_all(ByteSpan raw, std::vector<Event>& events) {
    const std::size_t before = events.size();
    const Bytes allowed = allowance();
    EventDecoder decoder(raw, allowed);
    for (Event event; decoder.next(event); event = {}) {
      events.push_back(std::move(event));
    }
    decoded_ += allowed - decoder.left();
    if (decoder.ok()) return {};
    events.resize(before);
    return decoder.left() == 0 ? "unpacks to too much" : "bad event";
  }

  template <typename Event>
  std::string decode_one(ByteSpan raw, Event& event) {
    EventDecoder decoder(raw, allowance());
    Event fresh;
    if (!decoder.next(fresh)) return "bad event";
    event = std::move(fresh);
    return {};
  }
  // ... and what an Info must keep for its users' sake.
  std::string decode_one(ByteSpan raw, Trace::Info& info) {
    Trace::Info fresh;
    if (auto why = decode_one<Trace::Info>(raw, fresh); !why.empty()) {
      return why;
    }
    if (!std::has_single_bit(fresh.page_bytes)) return "bad page size";
    info = std::move(fresh);
    return {};
  }

  std::string decode_these(ByteSpan raw, std::vector<Sample>& samples) {
    const std::size_t before = samples.size();
    if (allowance() < kMaxBlockSamples * sizeof(Sample)) {
      return "unpacks to too much";
    }
    auto why = decode_samples(raw, samples);
    decoded_ += (samples.size() - before) * sizeof(Sample);
    return why;
  }

  const ByteSource& source_;
  const std::string& name_;
  ReadTrace out_;
  Unpacker unpacker_;
  ByteVector stored_;
  Bytes offset_ = 0;
  Bytes decoded_ = 0;
};

}  // namespace

Result<ReadTrace> read_trace(const std::string& path, const Watch& watch) {
  auto file = open_byte_source(path);
  if (!file) return file.error();
  return Reader(**file, path).read(watch);
}

Result<ReadTrace> read_trace(std::span<const std::uint8_t> bytes,
                             const std::string& name) {
  const MemorySource source(bytes);
  return Reader(source, name).read();
}

}  // namespace thermocline
