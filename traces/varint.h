// Varints: small integers in few bytes, little end first.
//
// Seven bits a byte, the high bit set on all but the last (LEB128, as in
// protocol buffers); at most ten bytes. Signed values and differences are
// folded first (0, -1, 1, -2, ... become 0, 1, 2, 3, ...). Differences wrap
// modulo 2^64, so that every pair of values has one. ByteReader never reads
// past its end: a bad read returns 0 and clears ok(), which stays cleared.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thermocline {

using ByteVector = std::vector<std::uint8_t>;
using ByteSpan = std::span<const std::uint8_t>;

constexpr std::uint64_t fold(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
constexpr std::uint64_t unfold(std::uint64_t folded) {
  return (folded >> 1) ^ (0 - (folded & 1));
}

inline void put_varint(ByteVector& to, std::uint64_t value) {
  while (value >= 0x80) {
    to.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  to.push_back(static_cast<std::uint8_t>(value));
}

inline void put_bytes(ByteVector& to, ByteSpan bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  std::uint64_t left() const { return static_cast<std::uint64_t>(end_ - at_); }
  bool empty() const { return at_ == end_; }

  /// The next varint; one of more than 64 bits is a bad read.
  std::uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return long_varint();
  }
  /// The next `count` bytes, still owned by whoever owns the input.
  ByteSpan take(std::uint64_t count) {
    if (count > left()) {
      ok_ = false;
      return {};
    }
    const ByteSpan taken(at_, static_cast<std::size_t>(count));
    at_ += count;
    return taken;
  }

 private:
  std::uint64_t long_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const std::uint64_t byte = *at_++;
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

}  // namespace thermocline
