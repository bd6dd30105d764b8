// divide_fast: how targets share what there is of the fastest tier.
//
// Each is sure of its minimum, as far as it wants that much; what is left goes
// to all by weight, and what one does not want goes to the others (weighted
// max-min fairness). So a target alone may have all, and one that is idle
// takes nothing from the rest. Where the minima together exceed what there is,
// each gets its part of it.
//
// Thread safety: pure.
#pragma once

#include <span>
#include <vector>

#include "traces/types.h"

namespace thermocline {

struct FastShare {
  double weight = 1;  // above 0
  Bytes minimum = 0;  // of fast memory, guaranteed
};

struct FastClaim {
  FastShare share;
  Bytes wants = 0;  // all that it could use
};

/// Bytes for each claim, in the same order. They sum to `bytes` (but for
/// rounding) even where less is wanted: the rest goes by weight, for what a
/// target may allocate before the next window.
std::vector<Bytes> divide_fast(Bytes bytes, std::span<const FastClaim> claims);

}  // namespace thermocline
