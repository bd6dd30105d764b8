// PendingUpdates: additions to rows that wait to be sent, and which go first.
//
// Additions to the same row are joined: one message for many. A row's
// importance, summed over its columns, is: by magnitude, its relative changes
// since it was sent, |addition / value| (the addition itself where the value is
// 0), for parameters whose size is their scale; by change, what would be sent,
// |sum of the additions|, for counts: there one more of a rare word is a large
// part and matters little, and a token that went and came back is no change.
//
// Thread safety: plain values. Determinism: ties go to the lower row; random
// order comes from the caller's seed. Source: after Boesen's managed
// communication (Wei et al., SoCC 2015).
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

enum class SendOrder { kMagnitude, kChange, kFifo, kRandom };

/// "magnitude", "change", "fifo", "random". Errors: kNotFound, naming the known
/// ones.
Result<SendOrder> send_order(const std::string& name);

class PendingUpdates {
 public:
  PendingUpdates(SendOrder order, std::uint64_t seed)
      : order_(order), rng_(seed) {}

  /// Joins an addition made at `clock`; `value` is what the row holds now.
  void add(std::int64_t row, std::span<const float> delta,
           std::span<const float> value, std::int64_t clock);

  struct Update {
    std::int64_t row = 0;
    std::vector<float> delta;
  };
  /// Takes out what was first added to at or before `clock`, in any case, and
  /// then the first of the order, while all of it fits into `rows` rows.
  std::vector<Update> take(std::int64_t clock, std::size_t rows);

  /// Takes out what waits for that row, if anything does.
  std::vector<Update> take_row(std::int64_t row);

  /// What waits for the row; empty if nothing does.
  std::span<const float> of(std::int64_t row) const;
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    std::vector<float> delta;
    std::int64_t clock = 0;    // of the oldest addition
    std::uint64_t number = 0;  // which came first
    double importance = 0;
  };
  SendOrder order_;
  std::mt19937_64 rng_;
  std::uint64_t added_ = 0;
  std::map<std::int64_t, Waiting> waiting_;
};

}  // namespace thermocline
