// SlowLoss: what accesses lose in the slowest tier of a view against the
// fastest, by the machine's model.
//
// Thread safety: a plain value. Units: nanoseconds.
#pragma once

#include <algorithm>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"
#include "estimator/view.h"

namespace thermocline {

class SlowLoss {
 public:
  /// Requires: a tier.
  explicit SlowLoss(const View& view) {
    const AccessCost near = access_cost(tier_of(view.tiers.front()));
    const AccessCost far = access_cost(tier_of(view.tiers.back()));
    load_ns_ = std::max(0.0, far.load_ns - near.load_ns);
    store_ns_ = std::max(0.0, far.store_ns - near.store_ns);
  }
  /// Of the accesses of one window.
  double of(const ObjectView& one) const {
    return std::max(0.0, one.loads) * load_ns_ +
           std::max(0.0, one.stores) * store_ns_;
  }

 private:
  double load_ns_ = 0;
  double store_ns_ = 0;
};

}  // namespace thermocline
