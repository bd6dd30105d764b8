// PerfStream: decodes a perf pipe stream, what `perf record -o -` writes.
//
// A stream is a 16-byte header and records; perf's own records among them
// introduce the events. It may come in pieces of any size. A stream whose
// framing is broken cannot be followed any further, and is not guessed at.
//
// Thread safety: none. Pure: no descriptor. Memory: at most one unfinished
// record (64 KiB) beside the decoder's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tracer/perf_decoder.h"

namespace thermocline {

class PerfStream {
 public:
  /// Takes the next bytes; what they complete is appended to `batch`. Errors:
  /// kCorrupt with the offset in the stream, kUnsupported for forms of perf's
  /// data that are no pipe stream, or are compressed. An error sticks.
  Status feed(std::span<const std::uint8_t> bytes, SampleBatch& batch);

  const PerfDecoder& decoder() const { return decoder_; }
  /// Bytes of an unfinished header or record that are being held.
  std::size_t held() const { return rest_.size(); }

 private:
  Status advance(std::span<const std::uint8_t>& bytes, SampleBatch& batch);
  Status open(std::span<const std::uint8_t>& bytes);
  Status take_record(const PerfHeader& header,
                     std::span<const std::uint8_t> body, SampleBatch& batch);
  Status take_attributes(std::span<const std::uint8_t> body);
  void take_update(std::span<const std::uint8_t> body);
  Error broken(const std::string& why) const;

  PerfDecoder decoder_;
  std::vector<std::uint8_t> rest_;
  std::uint64_t offset_ = 0;  // of what comes next
  std::uint64_t skip_ = 0;    // bytes of data that follow a record
  bool opened_ = false;
  Status failed_;
};

}  // namespace thermocline
