// RegionMap: cuts an address space into regions, the objects that pages are
// placed by.
//
// A region is `region_bytes` of address space, aligned to its size and clipped
// to the mappings that can be placed. The map only grows: a region keeps its
// number while the job lives, so that heat gathered under an ObjectId stays
// with it. The daemon and the learning environment use the same map, so that
// what the agent learns is what the daemon sees.
//
// A region that two mappings share spans both and the gap between them: pages
// of the gap do not exist, so nothing of them can be placed by mistake.
//
// Thread safety: none. Cost: find is O(1), add O(1) for each region of the
// mapping. Memory: about 60 bytes a region, kMaxRegions at most.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/trace.h"
#include "traces/types.h"

namespace thermocline {

struct Region {
  Address start = 0;
  Address end = 0;
  Bytes bytes() const { return end - start; }
};

class RegionMap {
 public:
  /// A process may reserve terabytes and touch none of it (a sanitizer's
  /// shadow); beyond this many regions nothing is added. 1 TiB by default.
  static constexpr std::uint64_t kMaxRegions = std::uint64_t{1} << 22;

  /// Requires: region_bytes is a power of two and at least a page.
  explicit RegionMap(Bytes region_bytes = 256 * 1024);

  /// Adds the regions of a mapping, or widens those that exist. Ignores empty
  /// mappings and those that are not placeable().
  void add(const Mapping& mapping);
  /// The region of an address, if any mapping covers it.
  std::optional<ObjectId> find(Address address) const;
  /// The region of the slot that an address lies in, which may begin after the
  /// address or end before it.
  std::optional<ObjectId> in_slot(Address address) const;
  /// A region of any size that find() does not know: whoever adds it finds it,
  /// and may change it. Returns its number, one of the others' kind.
  ObjectId add_apart(const Region& region);
  void change_apart(ObjectId id, const Region& region) {
    regions_[id] = region;
  }
  const Region& region(ObjectId id) const { return regions_[id]; }
  std::span<const Region> regions() const { return regions_; }
  Bytes region_bytes() const { return region_bytes_; }
  /// Address space that was not added because of kMaxRegions.
  Bytes ignored_bytes() const { return ignored_bytes_; }

  /// True for mappings whose pages may be placed at all: private or shared
  /// data of the process, not the kernel's special areas ([vdso], [vvar],
  /// [vsyscall]) and not what nobody may touch ("---p").
  static bool placeable(const Mapping& mapping);

 private:
  Bytes region_bytes_;
  int shift_;
  Bytes ignored_bytes_ = 0;
  std::vector<Region> regions_;
  std::unordered_map<Address, ObjectId> by_slot_;  // address >> shift
};

}  // namespace thermocline
