// tier_use(): the bytes that a job's objects take in each tier.
//
// Thread safety: a pure function. Cost: one pass over the objects.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "estimator/view.h"

namespace thermocline {

// Sums by tier. Neighbours lie in the same tier and would wait for one
// another's sum: each of several in turn adds to sums of its own.
class TierSums {
 public:
  explicit TierSums(std::size_t tiers)
      : sums_(kLanes * tiers), at_(sums_.data()) {}
  /// Requires: tier < tiers.
  void add(std::size_t turn, TierId tier, Bytes bytes) {
    at_[tier * kLanes + turn % kLanes] += bytes;
  }
  /// By tier: the sum, or TierView::used if that is more.
  std::vector<Bytes> use(std::span<const TierView> tiers) const {
    std::vector<Bytes> out;
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      out.push_back(std::max(of(t), tiers[t].used));
    }
    return out;
  }

 private:
  Bytes of(std::size_t tier) const {
    Bytes out = 0;
    for (std::size_t i = 0; i < kLanes; ++i) out += at_[tier * kLanes + i];
    return out;
  }
  static constexpr std::size_t kLanes = 4;
  std::vector<Bytes> sums_;
  Bytes* const at_;
};

/// By tier: what its objects take, or TierView::used if that is more. Objects
/// in tiers that do not exist are left out.
inline std::vector<Bytes> tier_use(const View& view) {
  TierSums sums(view.tiers.size());
  for (const ObjectView& object : view.objects) {
    if (object.tier < view.tiers.size()) {
      sums.add(object.id, object.tier, object.bytes);
    }
  }
  return sums.use(view.tiers);
}

}  // namespace thermocline
