#include "policies/region_extents.h"

namespace thermocline {

void RegionExtents::join(const View& view, std::span<const ObjectId> chosen,
                         std::span<const double> density,
                         const Limits& limits) {
  members_.clear();
  begins_.assign(1, 0);
  claims_.clear();
  marks_.assign(view.objects.size(), 0);
  for (const ObjectId i : chosen) marks_[i] = kChosen;
  for (const ObjectId i : chosen) {
    if (!limits.contiguous) break;
    const ObjectId to = beyond(view, i, limits);
    if (to != kNoObject) marks_[to] |= kPreceded;
  }
  for (const ObjectId i : chosen) {
    if (!is(i, kPreceded)) walk(view, i, density, limits);
  }
  // Whatever a view says of neighbours that go round in a circle.
  for (const ObjectId i : chosen) {
    if (!is(i, kTaken)) walk(view, i, density, limits);
  }
}

// The next chosen object: the neighbour, or the one behind a small gap.
ObjectId RegionExtents::beyond(const View& view, ObjectId object,
                               const Limits& limits) const {
  const TierId tier = view.objects[object].tier;
  Bytes gap = 0;
  ObjectId at = next(view, object);
  while (at != kNoObject && at != object) {
    const ObjectView& one = view.objects[at];
    if (one.tier != tier || !one.movable || one.bytes == 0) return kNoObject;
    if (is(at, kChosen)) return at;
    if (one.bytes > limits.gap_bytes - gap) return kNoObject;
    gap += one.bytes;
    at = next(view, at);
  }
  return kNoObject;
}

void RegionExtents::walk(const View& view, ObjectId first,
                         std::span<const double> density,
                         const Limits& limits) {
  Bytes bytes = 0;
  double value = 0;
  const auto close = [&] {
    const ObjectView& one = view.objects[members_[begins_.back()]];
    const auto id = static_cast<ObjectId>(claims_.size());
    claims_.push_back({value / static_cast<double>(bytes), bytes, id, one.tier,
                       one.tier == 0});
    begins_.push_back(members_.size());
    bytes = 0;
    value = 0;
  };
  const auto take = [&](ObjectId i) {
    marks_[i] |= kTaken;
    members_.push_back(i);
    bytes += view.objects[i].bytes;
    if (is(i, kChosen)) {
      value += density[i] * static_cast<double>(view.objects[i].bytes);
    }
  };
  take(first);
  for (ObjectId at = first; limits.contiguous;) {
    const ObjectId to = beyond(view, at, limits);
    if (to == kNoObject || is(to, kTaken)) break;
    Bytes more = view.objects[to].bytes;
    bool free = true;
    for (ObjectId i = next(view, at); i != to; i = next(view, i)) {
      more += view.objects[i].bytes;
      free = free && !is(i, kTaken);
    }
    const bool joined =
        free && bytes <= limits.bytes && more <= limits.bytes - bytes;
    if (!joined) close();
    for (ObjectId i = next(view, at); joined && i != to; i = next(view, i)) {
      take(i);
    }
    take(to);
    at = to;
  }
  close();
}

}  // namespace thermocline
