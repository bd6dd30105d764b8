// MemoryMedium: a medium that is somebody's bytes, and nothing else: what
// several pools share, or what a test makes something special of. Thread
// safety: as Medium.
#pragma once

#include <algorithm>
#include <cstring>

#include "training/medium.h"

namespace thermocline {

class MemoryMedium : public Medium {
 public:
  /// Requires: the bytes outlive it.
  explicit MemoryMedium(ByteVector& bytes) : bytes_(bytes) {}
  ByteSpan bytes() const override { return bytes_; }
  Durability durability() const override { return {}; }
  void write(Bytes offset, ByteSpan bytes) override {
    std::ranges::copy(bytes, bytes_.begin() + static_cast<long>(offset));
  }
  void write_word(Bytes offset, std::uint64_t word) override {
    std::memcpy(&bytes_[offset], &word, 8);
  }
  void fence() override {}
  Status sync(Bytes, Bytes) override { return {}; }

 private:
  ByteVector& bytes_;
};

}  // namespace thermocline
