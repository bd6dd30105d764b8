// SplitRegions: the regions of a process, of one size where that is possible,
// and of several where there is too much memory for it.
//
// A mapping that fits is cut by a grid, as in RegionMap. One for which there
// are not enough regions left is cut coarser, so that it takes half of them at
// most; such a region can be split in eight, down to the grid's size, and
// neighbours within a block of eight merged again. So few regions cover much
// memory, and the small ones lie where they are worth it (region_heat.h says
// where that is; DAMON, Middleware 2019, does so with all of its regions, and
// at random).
//
// A region keeps its number while it lives: the first part of a split one has
// the number of the whole. The numbers of the others that were merged are given
// out again; until then their regions are empty.
//
// Thread safety: none. Cost: find is O(1) where all are of one size, else
// O(log large regions).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "traces/regions.h"

namespace thermocline {

class SplitRegions {
 public:
  static constexpr Bytes kParts = 8;

  /// `most` regions at once, none larger than `largest`. Requires: both sizes
  /// are powers of two, region_bytes at least a page and at most `largest`.
  SplitRegions(Bytes region_bytes, Bytes largest, std::size_t most)
      : map_(region_bytes), largest_(largest), most_(most) {}

  /// Covers a mapping that is placeable. False, and nothing is added: there are
  /// not enough regions for it.
  bool add(const Mapping& mapping);

  std::size_t size() const { return map_.regions().size(); }
  Bytes region_bytes() const { return map_.region_bytes(); }
  const Region& region(ObjectId id) const { return map_.region(id); }
  std::optional<ObjectId> find(Address address) const;
  /// The regions that [start, end) touches, by address. Cost: O(end - start) or
  /// O(regions), whichever is less.
  std::vector<ObjectId> touching(Address start, Address end) const;
  /// Calls use(id) for each of them: where most of the range has regions.
  template <typename Use>
  void each(Address start, Address end, Use use) const;

  /// Large regions, and their numbers by where they begin.
  const std::map<Address, ObjectId>& large() const { return large_; }
  bool is_large(ObjectId id) const {
    const auto at = large_.find(region(id).start);
    return at != large_.end() && at->second == id;
  }
  /// How many more there may be.
  std::size_t left() const {
    const std::size_t used = size() - free_.size();
    return most_ > used ? most_ - used : 0;
  }

  /// Returns: the numbers of all parts, the region's own first; nothing where
  /// it is no larger than the grid's, or there are no regions left.
  std::vector<ObjectId> split(ObjectId id);
  /// The large regions of the block of eight, four or two in which this one is
  /// a part, if they can be merged: they meet, and none is larger than a part.
  std::vector<ObjectId> block(ObjectId id) const;
  /// Makes one of them, which has the number of the first. Requires: they are a
  /// block().
  void merge(std::span<const ObjectId> parts);

 private:
  std::vector<ObjectId> parts_of(ObjectId id, Bytes part, Bytes size) const;
  Address after_gap(Address at) const;
  bool covers(const Mapping& mapping) const;
  std::vector<Region> gaps(const Mapping& mapping) const;
  bool add_large(const Mapping& mapping);
  void cover(Address start, Address end, Bytes size);
  ObjectId number(const Region& region);

  RegionMap map_;
  Bytes largest_;
  std::size_t most_;
  std::map<Address, ObjectId> large_;
  std::deque<ObjectId> free_;  // the longest unused first
};

template <typename Use>
void SplitRegions::each(Address start, Address end, Use use) const {
  for (Address at = start; at < end;) {
    const auto id = find(at);
    if (id) use(*id);
    const Address next = id ? region(*id).end : after_gap(at);
    if (next <= at) return;  // the top of the address space
    at = next;
  }
}

}  // namespace thermocline
