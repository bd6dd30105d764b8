// PerfStream: decodes a perf pipe stream, what `perf record -o -` writes.
//
// A stream is a 16-byte header and records; perf's own records among them
// introduce the events. It may come in pieces of any size, its records may be
// compressed (-z). A stream whose framing is broken cannot be followed any
// further, and is not guessed at.
//
// Thread safety: none. Pure: no descriptor. Memory: at most one unfinished
// record (64 KiB) and PerfUnpacker's beside the decoder's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracer/perf_decoder.h"
#include "tracer/perf_features.h"
#include "tracer/perf_unpacker.h"

namespace thermocline {

// The first 8 bytes of perf's files and streams: "PERFILE2".
inline constexpr std::uint64_t kPerfMagic = 0x32454c4946524550;

class PerfStream {
 public:
  PerfStream() = default;
  /// For the records of a perf.data file: no header precedes them, the events
  /// are known, and the first record is at `offset` in the file.
  PerfStream(PerfDecoder decoder, std::uint64_t offset)
      : decoder_(std::move(decoder)), offset_(offset), opened_(true) {}

  /// Takes the next bytes; what they complete is appended to `batch`. Errors:
  /// kCorrupt with the offset in the stream, kUnsupported for forms of perf's
  /// data that are no pipe stream. An error sticks.
  Status feed(std::span<const std::uint8_t> bytes, SampleBatch& batch);

  const PerfDecoder& decoder() const { return decoder_; }
  PerfDecoder& decoder() { return decoder_; }
  /// What the stream has said of the machine and of itself.
  const PerfFeatures& features() const { return features_; }
  /// Bytes of an unfinished header or record that are being held.
  std::size_t held() const { return rest_.size() + unpacked_.size(); }

 private:
  Status walk(std::span<const std::uint8_t>& bytes, SampleBatch& batch);
  Status advance(std::span<const std::uint8_t>& bytes, SampleBatch& batch);
  Status open(std::span<const std::uint8_t>& bytes);
  Status take_record(const PerfHeader& header,
                     std::span<const std::uint8_t> body, SampleBatch& batch);
  Status take_attributes(std::span<const std::uint8_t> body);
  void take_update(std::span<const std::uint8_t> body);
  Status take_compressed(bool counted, std::span<const std::uint8_t> body,
                         SampleBatch& batch);
  Error broken(const std::string& why) const;

  PerfDecoder decoder_;
  PerfFeatures features_;
  PerfUnpacker unpacker_;
  std::vector<std::uint8_t> unpacked_;  // ends within a record, or is empty
  bool unpacking_ = false;              // that is what is being walked
  std::vector<std::uint8_t> rest_;
  std::uint64_t offset_ = 0;  // of what comes next
  std::uint64_t skip_ = 0;    // bytes of data that follow a record
  bool opened_ = false;
  Status failed_;
};

}  // namespace thermocline
