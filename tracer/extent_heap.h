// ExtentHeap: which parts of a run of addresses are in use, and which are free.
//
// It never touches the memory that it deals out, so that what it knows of a
// page does not make the page hot. Free neighbours are merged at once. Where to
// put something is found by size: two-level segregated fit (Masmano and others,
// ECRTS 2004) with the headers kept outside, and a look at a few extents of the
// wanted size's own bin first, because a training step asks for the same sizes
// again and again.
//
// An extent is dirty as far as it may have pages of the kernel's: what was in
// use is dirty, what was added or cleaned is not.
//
// Thread safety: none. Memory: about 100 bytes an extent. Cost: constant, but
// for clean() and pages().
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "traces/types.h"

namespace thermocline {

class ExtentHeap {
 public:
  /// Requires: a power of two. Every address and size is rounded to it.
  explicit ExtentHeap(Bytes granule);

  /// Adds free, clean memory. Requires: multiples of the granule; `start` is at
  /// or above the end of all that was added before.
  void add(Address start, Bytes bytes);
  /// Returns: an address that is a multiple of `align`, or 0 when no free
  /// extent is found. Requires: bytes > 0; align a power of two, at least the
  /// granule.
  Address take(Bytes bytes, Bytes align);
  /// Requires: an address from take(), not given back since. Returns: bytes.
  Bytes give_back(Address address);

  Bytes live() const { return live_; }    // in use
  Bytes dirty() const { return dirty_; }  // free and dirty
  std::size_t extents() const { return taken_.size(); }
  /// Free bytes at the very end, which the next add() would enlarge.
  Bytes free_at_end() const;

  /// Hands whole free pages to `release`, the largest extents first, until at
  /// most `keep` dirty bytes are left, or only such extents as have no whole
  /// page.
  void clean(Bytes keep, Bytes page,
             const std::function<void(Address, Bytes)>& release);

  struct Pages {
    std::uint64_t touched = 0;  // pages on which something in use lies
    std::uint64_t least = 0;    // pages that the same bytes would fill
  };
  Pages pages(Bytes page) const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0;
  static constexpr unsigned kSteps = 32;  // bins a power of two
  static constexpr unsigned kPowers = 48;
  static constexpr int kLooks = 8;  // into the own bin

  struct Extent {
    Address start = 0;
    Bytes bytes = 0;
    Bytes dirty = 0;                      // of a free one
    Index before = kNone, after = kNone;  // by address
    Index last = kNone, next = kNone;     // in its bin
    bool free = false;
  };
  struct Bin {
    unsigned power;
    unsigned step;
  };

  Bin bin_of(Bytes bytes) const;
  Index make(const Extent& extent);
  void drop(Index index);
  void put_in_bin(Index index);
  void take_from_bin(Index index);
  Index find(Bytes bytes) const;
  Index first_from(Bin bin) const;
  void split(Index index, Bytes bytes);
  void merge_with_after(Index index);

  const Bytes granule_;
  Bytes live_ = 0;
  Bytes dirty_ = 0;
  Index end_ = kNone;  // the extent with the highest address
  std::vector<Extent> all_;
  std::vector<Index> unused_;
  std::uint64_t powers_ = 0;                    // which have a free extent
  std::array<std::uint32_t, kPowers> steps_{};  // likewise, a power's
  std::array<std::array<Index, kSteps>, kPowers> bins_{};
  std::unordered_map<Address, Index> taken_;
};

}  // namespace thermocline
