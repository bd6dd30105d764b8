// RecordingMedium: a medium in memory that knows what a crash may leave.
//
// The model. Memory survives in units: cache lines of 64 bytes (kLine, as DAX
// with ADR) or pages of 4 KiB (kPage, as msync). Stores to one unit become
// durable in their order; units are independent of each other, whether or not
// anybody flushed them, for caches and the kernel write back when they like. A
// fence makes durable what its own thread has written (kLine), a sync what
// lies in its range (kPage). A crash state is, for every unit, one of the
// contents that it had since it was last durable.
//
// A store of several words may also be torn: sampled states mix 8-byte words
// (kLine) or 512-byte sectors (kPage) of two neighbouring contents.
// Thread safety: as Medium. Time stands still in `on_crash_point`.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "training/medium.h"

namespace thermocline {

class RecordingMedium : public Medium {
 public:
  struct Unit {
    std::vector<ByteVector> contents;  // [0]: durable for certain
    std::vector<std::thread::id> by;   // of contents[i + 1]
  };

  RecordingMedium(Granularity granularity, ByteVector start)
      : granularity_(granularity), bytes_(std::move(start)) {
    durable_ = bytes_;
  }

  ByteSpan bytes() const override { return bytes_; }
  Durability durability() const override {
    return {granularity_, false, "it is a test"};
  }

  void write(Bytes offset, ByteSpan bytes) override {
    const std::lock_guard lock(mutex_);
    while (!bytes.empty()) {
      const Bytes unit = offset / unit_bytes();
      const Bytes room = (unit + 1) * unit_bytes() - offset;
      const auto part = bytes.first(std::min<Bytes>(room, bytes.size()));
      store(unit, offset, part);
      offset += part.size();
      bytes = bytes.subspan(part.size());
    }
    crash_point();
  }

  void write_word(Bytes offset, std::uint64_t word) override {
    std::uint8_t raw[8];
    std::memcpy(raw, &word, 8);
    write(offset, raw);
  }

  void fence() override {
    const std::lock_guard lock(mutex_);
    if (granularity_ != Granularity::kLine) return;
    crash_point();
    for (auto& [number, unit] : pending_) {
      std::size_t last = 0;
      for (std::size_t i = 0; i < unit.by.size(); ++i) {
        if (unit.by[i] == std::this_thread::get_id()) last = i + 1;
      }
      settle(number, unit, last);
    }
    forget_settled();
  }

  Status sync(Bytes offset, Bytes size) override {
    const std::lock_guard lock(mutex_);
    if (granularity_ != Granularity::kPage) return {};
    crash_point();
    for (auto& [number, unit] : pending_) {
      if (number * unit_bytes() < offset + size &&
          (number + 1) * unit_bytes() > offset) {
        settle(number, unit, unit.by.size());
      }
    }
    forget_settled();
    return {};
  }

  Bytes unit_bytes() const {
    return granularity_ == Granularity::kLine ? 64 : 4096;
  }
  Bytes torn_bytes() const {
    return granularity_ == Granularity::kLine ? 8 : 512;
  }
  /// What is durable for certain, and what may be beyond it.
  const ByteVector& durable() const { return durable_; }
  const std::map<Bytes, Unit>& pending() const { return pending_; }

  /// Called at each instant at which a crash is worth trying.
  std::function<void()> on_crash_point = [] {};

 private:
  void store(Bytes number, Bytes offset, ByteSpan part) {
    Unit& unit = pending_[number];
    const Bytes from = number * unit_bytes();
    const auto now = [&] {
      return ByteVector(&bytes_[from], &bytes_[from] + unit_bytes());
    };
    if (unit.contents.empty()) unit.contents.push_back(now());
    std::memcpy(&bytes_[offset], part.data(), part.size());
    unit.contents.push_back(now());
    unit.by.push_back(std::this_thread::get_id());
  }
  void settle(Bytes number, Unit& unit, std::size_t upto) {
    const auto n = static_cast<std::ptrdiff_t>(upto);
    std::ranges::copy(unit.contents[upto], &durable_[number * unit_bytes()]);
    unit.contents.erase(unit.contents.begin(), unit.contents.begin() + n);
    unit.by.erase(unit.by.begin(), unit.by.begin() + n);
  }
  void forget_settled() {
    std::erase_if(pending_,
                  [](const auto& one) { return one.second.by.empty(); });
  }
  void crash_point() const { on_crash_point(); }

  Granularity granularity_;
  ByteVector bytes_;
  ByteVector durable_;
  std::map<Bytes, Unit> pending_;
  std::mutex mutex_;
};

}  // namespace thermocline
