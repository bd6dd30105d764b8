// FaultyMedium: passes a pool's writes on with a bug put in, so that it can be
// seen whether the search for crash states would find it.
#pragma once

#include <memory>
#include <thread>
#include <utility>

#include "training/medium.h"

namespace thermocline {

enum class Bug {
  kNone,
  kNoFenceBeforeCommit,  // payload and commit word race
  kNoFenceAfterCommit,   // save() returns too early
  kHelpersDoNotFence,    // only the saving thread does
  kCommitBeforePayload,  // header first
  kCommitFieldByField,   // not one 8-byte store
};

class FaultyMedium final : public Medium {
 public:
  FaultyMedium(Medium& under, Bug bug) : under_(under), bug_(bug) {}

  ByteSpan bytes() const override { return under_.bytes(); }
  Durability durability() const override { return under_.durability(); }

  void write(Bytes offset, ByteSpan bytes) override {
    if (bug_ == Bug::kCommitBeforePayload) {
      held_.emplace_back(offset, ByteVector(bytes.begin(), bytes.end()));
      return;
    }
    under_.write(offset, bytes);
  }
  void write_word(Bytes offset, std::uint64_t word) override {
    committed_ = true;
    if (bug_ != Bug::kCommitFieldByField)
      return under_.write_word(offset, word);
    std::uint8_t raw[8];
    std::memcpy(raw, &word, 8);
    under_.write(offset, ByteSpan(raw).first(3));     // check and slot
    under_.write(offset + 3, ByteSpan(raw).last(5));  // sequence
  }
  void fence() override {
    if (dropped()) return;
    if (bug_ == Bug::kHelpersDoNotFence &&
        std::this_thread::get_id() != saver_) {
      return;
    }
    under_.fence();
  }
  Status sync(Bytes offset, Bytes size) override {
    if (dropped()) return {};
    if (auto ok = under_.sync(offset, size); !ok) return ok;
    if (!committed_ || held_.empty()) return {};
    // The commit is durable; now comes what it speaks of.
    for (const auto& [at, bytes] : std::exchange(held_, {})) {
      under_.write(at, bytes);
    }
    under_.fence();
    return under_.sync(0, bytes().size());
  }
  /// Before each save.
  void begin_save() { committed_ = false; }

 private:
  bool dropped() const {
    return (bug_ == Bug::kNoFenceBeforeCommit && !committed_) ||
           (bug_ == Bug::kNoFenceAfterCommit && committed_);
  }

  Medium& under_;
  Bug bug_;
  bool committed_ = false;
  std::thread::id saver_ = std::this_thread::get_id();
  std::vector<std::pair<Bytes, ByteVector>> held_;
};

}  // namespace thermocline
