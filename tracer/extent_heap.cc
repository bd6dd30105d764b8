#include "tracer/extent_heap.h"

#include <algorithm>
#include <bit>

#include "traces/result.h"

namespace thermocline {
namespace {

Address round_up(Address value, Bytes align) {
  return (value + align - 1) & ~(align - 1);
}

}  // namespace

ExtentHeap::ExtentHeap(Bytes granule) : granule_(granule), all_(1) {
  CHECK(std::has_single_bit(granule));
}

ExtentHeap::Bin ExtentHeap::bin_of(Bytes bytes) const {
  constexpr unsigned kBits = std::countr_zero(kSteps);
  const Bytes units = bytes / granule_;
  const auto top = static_cast<unsigned>(std::bit_width(units)) - 1;
  // Below kSteps units every size has a bin of its own.
  if (top < kBits) return {0, static_cast<unsigned>(units)};
  const auto step = static_cast<unsigned>(units >> (top - kBits)) - kSteps;
  return {std::min(top - kBits + 1, kPowers - 1), step};
}

ExtentHeap::Index ExtentHeap::make(const Extent& extent) {
  if (unused_.empty()) {
    all_.push_back(extent);
    return static_cast<Index>(all_.size() - 1);
  }
  const Index index = unused_.back();
  unused_.pop_back();
  all_[index] = extent;
  return index;
}

void ExtentHeap::drop(Index index) { unused_.push_back(index); }

void ExtentHeap::put_in_bin(Index index) {
  auto& extent = all_[index];
  const auto [power, step] = bin_of(extent.bytes);
  auto& first = bins_[power][step];
  extent.free = true;
  extent.last = kNone;
  extent.next = first;
  if (first != kNone) all_[first].last = index;
  first = index;
  powers_ |= std::uint64_t{1} << power;
  steps_[power] |= 1u << step;
  dirty_ += extent.dirty;
}

void ExtentHeap::take_from_bin(Index index) {
  auto& extent = all_[index];
  const auto [power, step] = bin_of(extent.bytes);
  if (extent.next != kNone) all_[extent.next].last = extent.last;
  if (extent.last != kNone) {
    all_[extent.last].next = extent.next;
  } else {
    bins_[power][step] = extent.next;
    if (extent.next == kNone) steps_[power] &= ~(1u << step);
    if (steps_[power] == 0) powers_ &= ~(std::uint64_t{1} << power);
  }
  extent.free = false;
  dirty_ -= extent.dirty;
}

// The first extent of this bin, or of the next that has one.
ExtentHeap::Index ExtentHeap::first_from(Bin bin) const {
  const std::uint32_t here = steps_[bin.power] >> bin.step;
  if (here != 0) {
    return bins_[bin.power]
                [bin.step + static_cast<unsigned>(std::countr_zero(here))];
  }
  if (bin.power + 1 >= kPowers) return kNone;
  const std::uint64_t above = powers_ >> (bin.power + 1);
  if (above == 0) return kNone;
  const auto power =
      bin.power + 1 + static_cast<unsigned>(std::countr_zero(above));
  return bins_[power][static_cast<unsigned>(std::countr_zero(steps_[power]))];
}

ExtentHeap::Index ExtentHeap::find(Bytes bytes) const {
  const Bin own = bin_of(bytes);
  Index index = bins_[own.power][own.step];
  for (int look = 0; look < kLooks && index != kNone; ++look) {
    if (all_[index].bytes >= bytes) return index;
    index = all_[index].next;
  }
  // Whatever lies in a later bin is large enough.
  if (own.step + 1 < kSteps) return first_from({own.power, own.step + 1});
  if (own.power + 1 < kPowers) return first_from({own.power + 1, 0});
  return kNone;
}

// Cuts what is beyond `bytes` off as an extent of its own, free.
void ExtentHeap::split(Index index, Bytes bytes) {
  if (all_[index].bytes == bytes) return;
  Extent rest;
  rest.start = all_[index].start + bytes;
  rest.bytes = all_[index].bytes - bytes;
  rest.dirty = std::min(rest.bytes, all_[index].dirty);
  rest.before = index;
  rest.after = all_[index].after;
  const Index made = make(rest);
  auto& extent = all_[index];
  if (extent.after != kNone) all_[extent.after].before = made;
  extent.after = made;
  extent.bytes = bytes;
  extent.dirty = std::min(bytes, extent.dirty);
  if (end_ == index) end_ = made;
  put_in_bin(made);
}

// Takes in the extent after it. Requires: both free, neither in a bin.
void ExtentHeap::merge_with_after(Index index) {
  const Index gone = all_[index].after;
  auto& extent = all_[index];
  extent.bytes += all_[gone].bytes;
  extent.dirty += all_[gone].dirty;
  extent.after = all_[gone].after;
  if (extent.after != kNone) all_[extent.after].before = index;
  if (end_ == gone) end_ = index;
  drop(gone);
}

void ExtentHeap::add(Address start, Bytes bytes) {
  CHECK(start % granule_ == 0 && bytes % granule_ == 0 && bytes > 0);
  if (end_ != kNone) CHECK(all_[end_].start + all_[end_].bytes <= start);
  const bool adjoins =
      end_ != kNone && all_[end_].start + all_[end_].bytes == start;
  if (adjoins && all_[end_].free) {
    take_from_bin(end_);
    all_[end_].bytes += bytes;
    return put_in_bin(end_);
  }
  Extent fresh;
  fresh.start = start;
  fresh.bytes = bytes;
  // A gap parts two runs: they are no neighbours.
  fresh.before = adjoins ? end_ : kNone;
  const Index made = make(fresh);
  if (adjoins) all_[end_].after = made;
  end_ = made;
  put_in_bin(made);
}

Address ExtentHeap::take(Bytes bytes, Bytes align) {
  CHECK(bytes > 0 && align >= granule_ && std::has_single_bit(align));
  bytes = round_up(bytes, granule_);
  Index index = find(bytes);
  if (index != kNone) {
    const auto& extent = all_[index];
    const Address at = round_up(extent.start, align);
    if (at + bytes > extent.start + extent.bytes) {
      index = find(bytes + align - granule_);
    }
  }
  if (index == kNone) return 0;
  take_from_bin(index);
  const Address at = round_up(all_[index].start, align);
  if (const Bytes gap = at - all_[index].start; gap > 0) {
    // The front stays free: cut there, and go on with the rest.
    split(index, gap);
    const Index rest = all_[index].after;
    take_from_bin(rest);
    put_in_bin(index);
    index = rest;
  }
  split(index, bytes);
  live_ += bytes;
  taken_.emplace(at, index);
  return at;
}

Bytes ExtentHeap::give_back(Address address) {
  const auto known = taken_.find(address);
  CHECK(known != taken_.end());
  Index index = known->second;
  taken_.erase(known);
  const Bytes bytes = all_[index].bytes;
  live_ -= bytes;
  all_[index].dirty = bytes;
  const Index after = all_[index].after;
  if (after != kNone && all_[after].free) {
    take_from_bin(after);
    merge_with_after(index);
  }
  const Index before = all_[index].before;
  if (before != kNone && all_[before].free) {
    take_from_bin(before);
    merge_with_after(before);
    index = before;
  }
  put_in_bin(index);
  return bytes;
}

Bytes ExtentHeap::free_at_end() const {
  return end_ != kNone && all_[end_].free ? all_[end_].bytes : 0;
}

void ExtentHeap::clean(Bytes keep, Bytes page,
                       const std::function<void(Address, Bytes)>& release) {
  for (unsigned bin = kPowers * kSteps; bin-- > 0 && dirty_ > keep;) {
    for (Index index = bins_[bin / kSteps][bin % kSteps];
         index != kNone && dirty_ > keep; index = all_[index].next) {
      auto& extent = all_[index];
      const Address from = round_up(extent.start, page);
      const Address to = (extent.start + extent.bytes) & ~(page - 1);
      if (extent.dirty == 0 || to <= from) continue;
      release(from, to - from);
      const Bytes left = std::min(extent.dirty, extent.bytes - (to - from));
      dirty_ -= extent.dirty - left;
      extent.dirty = left;
    }
  }
}

ExtentHeap::Pages ExtentHeap::pages(Bytes page) const {
  Pages pages;
  Address counted = 0;  // pages below it are counted
  std::vector<Index> taken;
  taken.reserve(taken_.size());
  for (const auto& [address, index] : taken_) taken.push_back(index);
  std::sort(taken.begin(), taken.end(),
            [this](Index a, Index b) { return all_[a].start < all_[b].start; });
  for (const Index index : taken) {
    const auto& extent = all_[index];
    const Address from = std::max(counted, extent.start & ~(page - 1));
    const Address to = round_up(extent.start + extent.bytes, page);
    if (to > from) pages.touched += (to - from) / page;
    counted = std::max(counted, to);
  }
  pages.least = (live_ + page - 1) / page;
  return pages;
}

}  // namespace thermocline
