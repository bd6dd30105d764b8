#include "daemon/split_regions.h"

#include <algorithm>
#include <bit>

#include "traces/result.h"

namespace thermocline {

std::optional<ObjectId> SplitRegions::find(Address address) const {
  if (const auto id = map_.find(address); id || large_.empty()) return id;
  auto at = large_.upper_bound(address);
  if (at == large_.begin()) return {};
  --at;
  if (address >= region(at->second).end) return {};
  return at->second;
}

// Where no region is: before here none begins.
Address SplitRegions::after_gap(Address at) const {
  Address next = (at / region_bytes() + 1) * region_bytes();
  if (const auto id = map_.in_slot(at); id && region(*id).start > at) {
    next = region(*id).start;
  }
  const auto large = large_.upper_bound(at);
  return large == large_.end() ? next : std::min(next, large->first);
}

std::vector<ObjectId> SplitRegions::touching(Address start, Address end) const {
  std::vector<ObjectId> out;
  if ((end - start) / region_bytes() < size()) {
    each(start, end, [&](ObjectId id) { out.push_back(id); });
    return out;
  }
  for (ObjectId id = 0; id < size(); ++id) {
    if (region(id).start < end && region(id).end > start) out.push_back(id);
  }
  std::ranges::sort(out, {}, [&](ObjectId id) { return region(id).start; });
  return out;
}

bool SplitRegions::covers(const Mapping& mapping) const {
  for (Address at = mapping.start; at < mapping.end;) {
    const auto id = find(at);
    if (!id) return false;
    at = region(*id).end;
  }
  return true;
}

bool SplitRegions::add(const Mapping& mapping) {
  const Bytes bytes = mapping.end - mapping.start;
  if (large_.empty()) {
    const bool known = find(mapping.start) && find(mapping.end - 1);
    if (known || bytes / region_bytes() + 2 <= left()) {
      map_.add(mapping);
      return true;
    }
  }
  return covers(mapping) || add_large(mapping);
}

// What no region covers: a mapping may have grown, or have swallowed others.
std::vector<Region> SplitRegions::gaps(const Mapping& mapping) const {
  std::vector<Region> out;
  Address at = mapping.start;
  for (const ObjectId id : touching(mapping.start, mapping.end)) {
    const Region& known = region(id);
    if (known.start > at) out.push_back({at, known.start});
    at = std::max(at, known.end);
  }
  if (at < mapping.end) out.push_back({at, mapping.end});
  return out;
}

bool SplitRegions::add_large(const Mapping& mapping) {
  if ((mapping.end - mapping.start) / largest_ > most_) return false;
  const auto missing = gaps(mapping);
  Bytes bytes = 0;
  for (const Region& gap : missing) bytes += gap.bytes();
  const std::size_t ends = 2 * missing.size();
  Bytes size = region_bytes();
  while (size < largest_ && bytes / size + ends > left() / 2) size *= 2;
  if (bytes / size + ends > left()) return false;
  for (const Region& gap : missing) cover(gap.start, gap.end, size);
  return true;
}

void SplitRegions::cover(Address start, Address end, Bytes size) {
  while (start < end) {
    const Address edge = (start / size + 1) * size;
    const Address stop = edge > start ? std::min(edge, end) : end;
    large_.emplace(start, number({start, stop}));
    start = stop;
  }
}

ObjectId SplitRegions::number(const Region& region) {
  if (free_.empty()) return map_.add_apart(region);
  const ObjectId id = free_.front();
  free_.pop_front();
  map_.change_apart(id, region);
  return id;
}

std::vector<ObjectId> SplitRegions::split(ObjectId id) {
  const Region whole = region(id);
  const Bytes size =
      std::max(region_bytes(), std::bit_ceil(whole.bytes()) / kParts);
  if (!is_large(id) || whole.bytes() <= region_bytes() || left() <= kParts) {
    return {};
  }
  std::vector<ObjectId> parts = {id};
  const Address first = std::min((whole.start / size + 1) * size, whole.end);
  map_.change_apart(id, {whole.start, first});
  for (Address at = first; at < whole.end;
       at = std::min(at + size, whole.end)) {
    const Region part{at, std::min(at + size, whole.end)};
    parts.push_back(number(part));
    large_.emplace(at, parts.back());
  }
  return parts;
}

std::vector<ObjectId> SplitRegions::block(ObjectId id) const {
  if (!is_large(id)) return {};
  const Bytes part =
      std::bit_ceil(std::max(region(id).bytes(), region_bytes()));
  for (Bytes size = part * kParts; size > part; size /= 2) {
    auto out =
        size <= largest_ ? parts_of(id, part, size) : std::vector<ObjectId>();
    if (out.size() >= 2) return out;
  }
  return {};
}

std::vector<ObjectId> SplitRegions::parts_of(ObjectId id, Bytes part,
                                             Bytes size) const {
  const Address begin = region(id).start & ~(size - 1);
  std::vector<ObjectId> out;
  for (auto at = large_.lower_bound(begin); at != large_.end(); ++at) {
    const Region& one = region(at->second);
    if (one.start - begin >= size) break;
    const bool meets = out.empty() || region(out.back()).end == one.start;
    if (!meets || one.bytes() > part || one.end - begin > size) return {};
    out.push_back(at->second);
  }
  return out;
}

void SplitRegions::merge(std::span<const ObjectId> parts) {
  CHECK(parts.size() >= 2);
  const Region whole{region(parts.front()).start, region(parts.back()).end};
  for (const ObjectId id : parts.subspan(1)) {
    large_.erase(region(id).start);
    map_.change_apart(id, {});
    free_.push_back(id);
  }
  map_.change_apart(parts.front(), whole);
}

}  // namespace thermocline
