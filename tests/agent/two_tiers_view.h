// TwoTiersView: regions of 256 KiB in fast or in slow memory, by hand, and the
// view of a window of them.
#pragma once

#include <vector>

#include "estimator/view.h"

namespace thermocline {

struct TwoTiersView {
  std::vector<ObjectView> objects;
  TierView tiers[2] = {{0, 0, 100, 100, 1e10, 1e10},
                       {1 << 30, 0, 300, 300, 1e9, 1e9}};

  /// `fast(i)`: region i begins in fast memory, of which there is no more.
  TwoTiersView(ObjectId count, auto fast) {
    for (ObjectId i = 0; i < count; ++i) {
      const TierId tier = fast(i) ? 0 : 1;
      objects.push_back({.id = i, .bytes = Bytes{1} << 18U, .tier = tier});
      tiers[tier].used += objects.back().bytes;
    }
    tiers[0].capacity = tiers[0].used;
  }

  View view() const {
    View out;
    out.window_ns = 50'000'000;
    out.objects = objects;
    out.tiers = tiers;
    return out;
  }
};

}  // namespace thermocline
