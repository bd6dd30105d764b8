// Admission: which of the wished moves are legal by Policy::decide's contract.
//
// For policies whose moves come from elsewhere, or one by one. Offer demotions
// first: the room that they free counts for what comes after them.
//
// Thread safety: none. Requires: the view outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "policies/policy.h"

namespace thermocline {

enum class Illegal : std::uint8_t {
  kNo = 0,
  kUnknownObject,
  kWrongTier,   // no such tier, or the one in which it lies
  kStale,       // the object does not lie where the move says
  kUnmovable,   // or without bytes
  kTwice,       // moved already
  kOverfills,   // no room in the destination
  kOverBudget,  // more bytes than may be moved
};
inline constexpr std::size_t kIllegals = 8;
/// "unknown_object", "wrong_tier", ...
const char* illegal_name(Illegal why);

class Admission {
 public:
  explicit Admission(const View& view);

  /// Counts the move in when it is legal.
  Illegal offer(const Move& move);
  /// What may still be moved.
  Bytes budget() const { return budget_; }
  void set_budget(Bytes bytes) { budget_ = bytes; }

 private:
  Illegal judge(const Move& move) const;

  const View& view_;
  Bytes budget_;
  std::vector<Bytes> used_;
  std::vector<bool> moved_;
};

}  // namespace thermocline
