// RegionIndex: from addresses back to the regions of an estimate.
//
// Thread safety: const after construction. Cost: O(log regions).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "traces/regions.h"

namespace thermocline {

class RegionIndex {
 public:
  /// The regions' numbers are their positions. Requires: none overlap.
  explicit RegionIndex(std::span<const Region> regions) {
    for (const Region& region : regions) {
      sorted_.push_back({region, static_cast<ObjectId>(sorted_.size())});
    }
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Entry& a, const Entry& b) {
                return a.region.start < b.region.start;
              });
  }

  std::optional<ObjectId> find(Address address) const {
    const auto at = first_after(address);
    if (at == sorted_.end() || at->region.start > address) return {};
    return at->id;
  }

  /// Calls use(id) for each region that [start, end) touches, by address.
  void each(Address start, Address end, auto&& use) const {
    for (auto at = first_after(start);
         at != sorted_.end() && at->region.start < end; ++at) {
      use(at->id);
    }
  }

 private:
  struct Entry {
    Region region;
    ObjectId id;
  };
  // The first that ends after `address`.
  std::vector<Entry>::const_iterator first_after(Address address) const {
    return std::partition_point(
        sorted_.begin(), sorted_.end(),
        [&](const Entry& entry) { return entry.region.end <= address; });
  }
  std::vector<Entry> sorted_;
};

}  // namespace thermocline
