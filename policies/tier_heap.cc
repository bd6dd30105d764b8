#include "policies/tier_heap.h"

#include <algorithm>

#include "traces/result.h"

namespace thermocline {

TierHeap::TierHeap(Bytes capacity, Bytes alignment) : alignment_(alignment) {
  CHECK(alignment > 0);
  const Bytes whole = capacity / alignment * alignment;
  if (whole > 0) add_hole(0, whole);
}

std::optional<Address> TierHeap::allocate(Bytes bytes) {
  if (bytes == 0 || bytes > ~Bytes{0} - alignment_) return std::nullopt;
  const Bytes size = (bytes + alignment_ - 1) / alignment_ * alignment_;
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [hole, at] = *found;
  drop_hole(holes_.find(at));
  if (hole > size) add_hole(at + size, hole - size);
  taken_.emplace(at, size);
  used_ += size;
  most_ = std::max(most_, used_);
  extent_ = std::max(extent_, at + size);
  return at;
}

void TierHeap::free(Address at) {
  const auto found = taken_.find(at);
  CHECK(found != taken_.end());
  Address start = at;
  Bytes bytes = found->second;
  taken_.erase(found);
  used_ -= bytes;
  const auto after = holes_.lower_bound(at);
  if (after != holes_.end() && after->first == start + bytes) {
    bytes += after->second;
    drop_hole(after);
  }
  const auto next = holes_.lower_bound(at);
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == start) {
      start = before->first;
      bytes += before->second;
      drop_hole(before);
    }
  }
  add_hole(start, bytes);
}

Bytes TierHeap::largest_hole() const {
  return by_size_.empty() ? 0 : by_size_.rbegin()->first;
}

void TierHeap::add_hole(Address at, Bytes bytes) {
  holes_.emplace(at, bytes);
  by_size_.emplace(bytes, at);
}

void TierHeap::drop_hole(std::map<Address, Bytes>::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

}  // namespace thermocline
