#include "tracer/damon_regions.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;
constexpr std::size_t kMaxTargets = 4096;

}  // namespace

std::uint32_t DamonRegions::target_number(const std::string& target) {
  if (targets_.size() >= kMaxTargets && !targets_.contains(target)) return 0;
  const auto next = static_cast<std::uint32_t>(targets_.size());
  return targets_.try_emplace(target, next).first->second;
}

Status DamonRegions::add(const DamonRegion& region, ImportedTrace& out) {
  if (region.end < region.start) {
    return corrupt(
        "a region ends before it starts; make it with damo record again");
  }
  ++regions_;
  first_ = std::min(first_, region.time);
  last_ = std::max(last_, region.time);
  const Bytes pages = (region.end - region.start) / kPage;
  if (region.accesses == 0 || pages == 0) return {};
  const auto points = std::min<Bytes>(pages, static_cast<Bytes>(points_));
  std::uint64_t stands_for = 0;
  if (__builtin_mul_overflow(region.accesses, pages, &stands_for)) {
    stands_for = UINT64_MAX;
  }
  const auto period = std::max<std::uint64_t>(stands_for / points, 1);
  Sample sample;
  sample.time = region.time;
  sample.thread = region.target;
  sample.period =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(period, UINT32_MAX));
  for (Bytes i = 0; i < points; ++i) {
    // The middle of each of `points` equal parts.
    const Bytes part = pages / points;
    const Bytes page = i * part + std::min(i, pages % points) + part / 2;
    sample.address = region.start + page * kPage;
    out.add(sample);
  }
  return {};
}

Status DamonRegions::finish(ImportedTrace& out) const {
  if (regions_ == 0) {
    return corrupt("no region in it; make it with damo record");
  }
  if (targets_.size() > 1) {
    out.note(std::to_string(targets_.size()) +
             " targets are kept; a sample's thread is its target's number");
  }
  out.note("DAMON does not tell loads from stores: all are shown as loads");
  out.add(Mark{first_, "start"});
  out.add(Mark{last_, "end"});
  return {};
}

}  // namespace thermocline
