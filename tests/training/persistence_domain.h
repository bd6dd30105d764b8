// PersistenceDomain: what a crash may leave of memory that is written to.
//
// The model. Memory survives in units: cache lines of 64 bytes (kLine, as DAX
// with ADR; kByte, as with eADR) or pages of 4 KiB (kPage, as fdatasync).
// Stores to one unit become durable in their order; units are independent of
// each other, whether or not anybody flushed them, for caches and the kernel
// write back when they like. For certain durable is what a thread has flushed
// once it drains (kLine), what it has stored once it drains (kByte), what lies
// in a range once that is synced (kPage). A crash state is, for every unit, one
// of the contents that it had since it was last durable.
//
// A store of several words may also be torn: sampled states mix 8-byte words
// (kLine, kByte) or 512-byte sectors (kPage) of two neighbouring contents.
// Thread safety: the caller locks. Time stands still in `on_crash_point`.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "training/medium.h"

namespace thermocline {

class PersistenceDomain {
 public:
  struct Unit {
    struct Flush {
      std::thread::id by;
      std::size_t upto;  // contents[0] to [upto] are on their way
    };
    std::vector<ByteVector> contents;  // [0]: durable for certain
    std::vector<Flush> flushes;
  };

  PersistenceDomain(Granularity granularity, ByteVector start)
      : granularity_(granularity), bytes_(std::move(start)), durable_(bytes_) {}

  Granularity granularity() const { return granularity_; }
  Bytes unit_bytes() const {
    return granularity_ == Granularity::kPage ? 4096 : 64;
  }
  Bytes torn_bytes() const {
    return granularity_ == Granularity::kPage ? 512 : 8;
  }

  /// This thread stores bytes, which caches hold from now on.
  void store(Bytes offset, ByteSpan bytes) {
    each_unit(offset, bytes.size(), [&](Bytes number, Bytes from, Bytes size) {
      Unit& unit = pending_[number];
      if (unit.contents.empty()) unit.contents.push_back(now(number));
      std::memcpy(&bytes_[from], bytes.data() + (from - offset), size);
      unit.contents.push_back(now(number));
      // Where caches survive, a store needs no flush.
      if (granularity_ == Granularity::kByte) begin_flush(unit);
    });
    on_crash_point();
  }
  /// This thread sends the lines of a range on their way (kLine).
  void flush(Bytes offset, Bytes size) {
    each_unit(offset, size, [&](Bytes number, Bytes, Bytes) {
      const auto found = pending_.find(number);
      if (found != pending_.end()) begin_flush(found->second);
    });
  }
  /// This thread waits for what it has sent (kLine, kByte).
  void drain() {
    if (granularity_ == Granularity::kPage) return;
    on_crash_point();
    for (auto& [number, unit] : pending_) {
      std::size_t upto = 0;
      for (const auto& flush : unit.flushes) {
        if (flush.by == std::this_thread::get_id()) {
          upto = std::max(upto, flush.upto);
        }
      }
      settle(number, unit, upto);
    }
    forget_settled();
  }
  /// Waits for a range (kPage).
  void sync(Bytes offset, Bytes size) {
    if (granularity_ != Granularity::kPage) return;
    on_crash_point();
    each_unit(offset, size, [&](Bytes number, Bytes, Bytes) {
      const auto found = pending_.find(number);
      if (found == pending_.end()) return;
      settle(number, found->second, found->second.contents.size() - 1);
    });
    forget_settled();
  }

  /// As a reader sees it; what is durable for certain; what may be beyond it.
  const ByteVector& bytes() const { return bytes_; }
  const ByteVector& durable() const { return durable_; }
  const std::map<Bytes, Unit>& pending() const { return pending_; }

  /// Called at each instant at which a crash is worth trying.
  std::function<void()> on_crash_point = [] {};

 private:
  template <typename Visit>
  void each_unit(Bytes offset, Bytes size, const Visit& visit) const {
    const Bytes end = offset + size;
    while (offset < end) {
      const Bytes number = offset / unit_bytes();
      const Bytes upto = std::min(end, (number + 1) * unit_bytes());
      visit(number, offset, upto - offset);
      offset = upto;
    }
  }
  ByteVector now(Bytes number) const {
    const auto* from = &bytes_[number * unit_bytes()];
    return {from, from + unit_bytes()};
  }
  static void begin_flush(Unit& unit) {
    unit.flushes.push_back(
        {std::this_thread::get_id(), unit.contents.size() - 1});
  }
  void settle(Bytes number, Unit& unit, std::size_t upto) {
    if (upto == 0) return;
    std::ranges::copy(unit.contents[upto], &durable_[number * unit_bytes()]);
    unit.contents.erase(unit.contents.begin(),
                        unit.contents.begin() + static_cast<long>(upto));
    std::erase_if(unit.flushes,
                  [&](const auto& flush) { return flush.upto <= upto; });
    for (auto& flush : unit.flushes) flush.upto -= upto;
  }
  void forget_settled() {
    std::erase_if(pending_, [](const auto& one) {
      return one.second.contents.size() <= 1;
    });
  }

  Granularity granularity_;
  ByteVector bytes_;
  ByteVector durable_;
  std::map<Bytes, Unit> pending_;
};

}  // namespace thermocline
