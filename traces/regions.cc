#include "traces/regions.h"

#include <algorithm>
#include <bit>

#include "traces/result.h"

namespace thermocline {

RegionMap::RegionMap(Bytes region_bytes)
    : region_bytes_(region_bytes), shift_(std::countr_zero(region_bytes)) {
  CHECK(std::has_single_bit(region_bytes) && region_bytes >= 4096);
}

bool RegionMap::placeable(const Mapping& mapping) {
  // Nothing can be read, written or run there: a guard or a reservation.
  if (mapping.permissions.starts_with("---")) return false;
  // [vdso], [vvar], [vvar_vclock], [vsyscall], [uprobes]: the kernel's own
  // pages, which move_pages refuses.
  for (const char* special : {"[vdso", "[vvar", "[vsyscall", "[uprobes"}) {
    if (mapping.name.starts_with(special)) return false;
  }
  return true;
}

void RegionMap::add(const Mapping& mapping) {
  if (mapping.start >= mapping.end || !placeable(mapping)) return;
  const Address first = mapping.start >> shift_;
  const Address last = (mapping.end - 1) >> shift_;
  if (last - first >= kMaxRegions) {
    ignored_bytes_ += mapping.end - mapping.start;
    return;
  }
  for (Address slot = first; slot <= last; ++slot) {
    const Address low = slot << shift_;
    // By its last byte: the end of the topmost region is past 2^64.
    const Address high = low + (region_bytes_ - 1);
    const Address start = std::max(mapping.start, low);
    const Address end = mapping.end - 1 <= high ? mapping.end : high + 1;
    if (const auto at = by_slot_.find(slot); at != by_slot_.end()) {
      auto& region = regions_[at->second];
      region.start = std::min(region.start, start);
      region.end = std::max(region.end, end);
    } else if (regions_.size() < kMaxRegions) {
      by_slot_.emplace(slot, static_cast<ObjectId>(regions_.size()));
      regions_.push_back({start, end});
    } else {
      ignored_bytes_ += end - start;
    }
  }
}

ObjectId RegionMap::add_apart(const Region& region) {
  regions_.push_back(region);
  return static_cast<ObjectId>(regions_.size() - 1);
}

std::optional<ObjectId> RegionMap::in_slot(Address address) const {
  const auto at = by_slot_.find(address >> shift_);
  if (at == by_slot_.end()) return std::nullopt;
  return at->second;
}

std::optional<ObjectId> RegionMap::find(Address address) const {
  const auto id = in_slot(address);
  if (!id) return id;
  const Region& region = regions_[*id];
  if (address < region.start || address >= region.end) return std::nullopt;
  return id;
}

}  // namespace thermocline
