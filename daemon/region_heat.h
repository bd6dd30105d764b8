// RegionHeat: which large regions are worth splitting, and which are not any
// more.
//
// Samples are counted by region, those of older windows ever less. One that was
// sampled enough is split, the densest first: only then can be seen whether its
// heat lies in a part of it. Parts that turn out to be alike are merged, and
// the whole is let be for long, unless it becomes twice as hot; parts that are
// cold are merged, too.
//
// Thread safety: none. Cost: a window, O(regions), and nothing as long as there
// are no large ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/split_regions.h"

namespace thermocline {

class RegionHeat {
 public:
  /// Ends a window: `samples` of each region in it. Requires: as many as there
  /// are regions.
  void end_window(const SplitRegions& regions, std::span<const double> samples);

  /// Groups to merge, each a block of `regions`; no region is in two.
  std::vector<std::vector<ObjectId>> to_merge(const SplitRegions& regions);
  /// Tells that these are the first of them now.
  void merged(std::span<const ObjectId> parts);

  /// Regions to split, in this order as far as there is room.
  std::vector<ObjectId> to_split(const SplitRegions& regions) const;
  /// Tells that the first of them is all of these now.
  void split(std::span<const ObjectId> parts);

 private:
  bool rests(ObjectId id) const {
    return window_ < rests_until_[id] && samples_[id] < rests_below_[id];
  }

  std::int32_t window_ = 0;
  std::vector<float> samples_;             // by region, decayed
  std::vector<std::int32_t> rests_until_;  // by region, a window
  std::vector<float> rests_below_;         // by region, samples_
  Address cursor_ = 0;                     // merges are looked for from here on
};

}  // namespace thermocline
