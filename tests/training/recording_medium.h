// RecordingMedium: a medium in memory that knows what a crash may leave
// (persistence_domain.h), for code that is to be tried without a file.
// Thread safety: as Medium.
#pragma once

#include <mutex>

#include "tests/training/persistence_domain.h"

namespace thermocline {

class RecordingMedium : public Medium {
 public:
  RecordingMedium(Granularity granularity, ByteVector start)
      : domain_(granularity, std::move(start)) {}

  ByteSpan bytes() const override { return domain_.bytes(); }
  Durability durability() const override {
    return {domain_.granularity(), false, false, "it is a test"};
  }
  void write(Bytes offset, ByteSpan bytes) override {
    const std::lock_guard lock(mutex_);
    domain_.store(offset, bytes);
    domain_.flush(offset, bytes.size());
  }
  void write_word(Bytes offset, std::uint64_t word) override {
    std::uint8_t raw[8];
    std::memcpy(raw, &word, 8);
    write(offset, raw);
  }
  void fence() override {
    const std::lock_guard lock(mutex_);
    domain_.drain();
  }
  Status sync(Bytes offset, Bytes size) override {
    const std::lock_guard lock(mutex_);
    domain_.sync(offset, size);
    return {};
  }

  PersistenceDomain& domain() { return domain_; }

 private:
  PersistenceDomain domain_;
  std::mutex mutex_;
};

}  // namespace thermocline
