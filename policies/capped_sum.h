// capped_sum(): bytes that are too many to count are still too many.
//
// Sizes come from views, and a policy survives whatever a view says.
//
// Thread safety: a pure function. Units: bytes.
#pragma once

#include <limits>

#include "traces/types.h"

namespace thermocline {

inline constexpr Bytes kTooMuch = std::numeric_limits<Bytes>::max();

/// a + b, or kTooMuch where that does not fit.
constexpr Bytes capped_sum(Bytes a, Bytes b) {
  return b <= kTooMuch - a ? a + b : kTooMuch;
}

}  // namespace thermocline
