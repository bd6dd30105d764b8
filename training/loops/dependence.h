// Dependences: how far apart two iterations are that touch the same element.
//
// For each pair of accesses to an array of which one writes, the subscripts
// give linear equations between the two iterations. What they determine is a
// number; what they leave open is "any". Solved exactly where the factors of
// both accesses are the same (rational elimination, then integrality and the
// loop's extent); otherwise only shown impossible, by the greatest common
// divisor or by ranges that do not meet, or left open.
//
// Thread safety: pure. Source: after Orion's dependence vectors. Two rules
// differ, both because bit-equal results need it: two writes depend on each
// other in unordered loops, too; and a leading "any", whose sign is open, is
// split into its cases, for which of the two iterations is the later one turns
// on it: (any, -1) is (>=1, -1), (>=1, 1) and (0, 1).
#pragma once

#include "training/loops/loop.h"

namespace thermocline {

struct Distance {
  enum class Kind { kNumber, kAny, kAtLeast };
  Kind kind = Kind::kAny;
  std::int64_t number = 0;

  bool is_zero() const { return kind == Kind::kNumber && number == 0; }
  bool operator==(const Distance&) const = default;
};

// The later iteration minus the earlier one, lexicographically not negative:
// the first distance that is not 0 is a positive number, or at least 0 or 1.
struct Dependence {
  std::vector<Distance> by;  // one for each dimension of the loop
  std::size_t first = 0;     // the pair: indices into Loop::accesses
  std::size_t second = 0;
};

/// All dependences; of those with equal distances, the first pair's. Accesses
/// through a buffer have none. Requires: validate(loop).
std::vector<Dependence> dependences(const Loop& loop);

/// "(1, 0)", "(0, >=0)", "(2, any)".
std::string text_of(const Dependence& dependence);

}  // namespace thermocline
