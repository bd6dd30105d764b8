// tier_of: a tier of a View in the words of a Machine, so that what the
// estimator says of tiers (access_cost.h) can be asked of a view's.
//
// Thread safety: pure.
#pragma once

#include "estimator/machine.h"
#include "estimator/view.h"

namespace thermocline {

inline Tier tier_of(const TierView& tier) {
  return {"",
          {},
          tier.capacity,
          tier.read_ns,
          tier.write_ns,
          tier.read_bytes_per_s,
          tier.write_bytes_per_s,
          false};
}

}  // namespace thermocline
