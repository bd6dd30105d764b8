#include "daemon/huge_groups.h"

#include <numeric>

namespace thermocline {
namespace {

// The regions of a huge page that begins with this one; fewer than two where
// it is the only one, or it is not all in huge memory.
void parts_of(const Target& target, ObjectId first,
              std::vector<ObjectId>& out) {
  out.clear();
  const Address begin = target.region(first).start;
  const Address end = begin + target.huge_bytes();
  if (begin % target.huge_bytes() != 0) return;
  ObjectId id = first;
  for (Address at = begin;;) {
    if (!target.huge(id) || target.region(id).end > end) break;
    out.push_back(id);
    at = target.region(id).end;
    if (at == end) return;
    const auto next = target.find(at);
    if (!next || target.region(*next).start != at) break;
    id = *next;
  }
  out.clear();
}

}  // namespace

void HugeGroups::find(const Target& target) {
  leaders_.clear();
  next_.clear();
  if (!target.any_huge()) return;
  leaders_.resize(target.size());
  next_.resize(target.size(), kNoObject);
  std::iota(leaders_.begin(), leaders_.end(), ObjectId{0});
  std::vector<ObjectId> group;
  for (ObjectId id = 0; id < leaders_.size(); ++id) {
    if (!target.huge(id)) continue;
    parts_of(target, id, group);
    for (std::size_t i = 1; i < group.size(); ++i) {
      leaders_[group[i]] = id;
      next_[group[i - 1]] = group[i];
    }
  }
}

}  // namespace thermocline
