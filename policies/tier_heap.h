// TierHeap: where tensors would lie in one tier, address by address.
//
// The allocator that the replayer gives each tier, so that fragmentation is
// real: a tensor fits only into a hole of its size, not into the sum of what is
// free. Best fit (the smallest hole that will do, the lowest of equals), with
// holes that touch made one: what AutoTM's baseline and most frameworks do.
//
// Thread safety: none. Deterministic.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "traces/types.h"

namespace thermocline {

class TierHeap {
 public:
  /// Sizes are rounded up to `alignment`: 64 as frameworks do, 4096 where each
  /// tensor has pages of its own. What is left of the capacity is lost.
  /// Requires: alignment > 0.
  TierHeap(Bytes capacity, Bytes alignment);

  /// None when no hole is large enough; nothing for 0 bytes, too.
  /// Cost: O(log holes).
  std::optional<Address> allocate(Bytes bytes);
  /// Requires: what allocate() returned, not yet freed.
  void free(Address at);

  Bytes used() const { return used_; }       // rounded sizes
  Bytes most_used() const { return most_; }  // at any time
  Bytes extent() const { return extent_; }   // highest end ever given out
  Bytes largest_hole() const;

 private:
  void add_hole(Address at, Bytes bytes);
  void drop_hole(std::map<Address, Bytes>::iterator hole);

  Bytes alignment_;
  Bytes used_ = 0;
  Bytes most_ = 0;
  Bytes extent_ = 0;
  std::map<Address, Bytes> taken_;
  std::map<Address, Bytes> holes_;
  std::set<std::pair<Bytes, Address>> by_size_;
};

}  // namespace thermocline
