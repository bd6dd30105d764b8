// Views by hand for policy tests: objects with a tier and heat, tiers with a
// capacity. Keeps what the View's spans point to.
#pragma once

#include <vector>

#include "policies/policy.h"

namespace thermocline {

inline constexpr Bytes kBlock = 65536;

class HandView {
 public:
  /// Tiers of these capacities in blocks; slower by position.
  explicit HandView(const std::vector<Bytes>& blocks) {
    for (std::size_t t = 0; t < blocks.size(); ++t) {
      TierView tier;
      tier.capacity = blocks[t] * kBlock;
      tier.read_bytes_per_s = 64e9 / static_cast<double>(t + 1);
      tier.write_bytes_per_s = 64e9 / static_cast<double>(4 * t + 1);
      tiers.push_back(tier);
    }
  }
  ObjectId add(TierId tier, double loads = 0, double stores = 0,
               Bytes bytes = kBlock, bool movable = true) {
    const auto id = static_cast<ObjectId>(objects.size());
    objects.push_back({id, kNoObject, bytes, loads, stores, tier, movable});
    return id;
  }
  View view() {
    for (auto& tier : tiers) tier.used = 0;
    for (const auto& object : objects) {
      tiers[object.tier].used += object.bytes;
    }
    return {window++, 10'000'000, budget, objects, tiers};
  }
  void apply(const std::vector<Move>& moves) {
    for (const auto& move : moves) objects[move.object].tier = move.to;
  }

  std::vector<ObjectView> objects;
  std::vector<TierView> tiers;
  Bytes budget = ~Bytes{0};
  std::int64_t window = 0;
};

}  // namespace thermocline
