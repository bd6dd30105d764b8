// SampleEncoder and decode_samples: samples as block payloads, by column.
//
// All times, then all addresses, and so on: like stands beside like, which
// Zstandard needs to find it. An address is kept as the difference from the
// last address of the same instruction, for one instruction mostly walks one
// array. FORMAT.md has the columns. Thread safety: none.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "traces/types.h"
#include "traces/varint.h"

namespace thermocline {

// A payload holds no more samples than this.
inline constexpr std::uint64_t kMaxBlockSamples = 1 << 16;

class SampleEncoder {
 public:
  /// The payload of these samples; valid until the next call.
  /// Requires: at most kMaxBlockSamples.
  const ByteVector& encode(const std::vector<Sample>& samples);

 private:
  void encode_places(const std::vector<Sample>& samples);
  void column(std::uint8_t id);

  ByteVector payload_;
  ByteVector column_;
  ByteVector ips_;
  ByteVector ip_of_;
  ByteVector pages_;
  std::unordered_map<Address, std::uint32_t> ip_index_;
  // By instruction: the last address, and how far its physical page was from
  // its virtual one.
  std::vector<Address> last_address_;
  std::vector<std::uint64_t> last_shift_;
};

/// Appends a payload's samples. Returns why the payload is malformed, and
/// then appends nothing; empty: all is well.
std::string decode_samples(ByteSpan payload, std::vector<Sample>& samples);

}  // namespace thermocline
