// A look at the bytes of a pool, as a job has that starts after a crash: read
// only.
#pragma once

#include "training/medium.h"

namespace thermocline {

class Image final : public Medium {
 public:
  explicit Image(ByteSpan bytes) : bytes_(bytes) {}
  ByteSpan bytes() const override { return bytes_; }
  Durability durability() const override { return {}; }
  void write(Bytes, ByteSpan) override { CHECK(false); }
  void write_word(Bytes, std::uint64_t) override { CHECK(false); }
  void fence() override { CHECK(false); }
  Status sync(Bytes, Bytes) override { return io("read only"); }

 private:
  ByteSpan bytes_;
};

}  // namespace thermocline
