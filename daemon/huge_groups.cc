#include "daemon/huge_groups.h"

#include <utility>

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
  parts_.clear();
  if (!target.any_huge()) return;
  parts_.resize(target.size());
  for (ObjectId id = 0; id < parts_.size(); ++id) parts_[id].leader = id;
  std::vector<ObjectId> group;
  for (ObjectId id = 0; id < parts_.size(); ++id) {
    if (!target.huge(id)) continue;
    parts_of(target, id, group);
    for (std::size_t i = 1; i < group.size(); ++i) {
      parts_[group[i]].leader = id;
      parts_[group[i - 1]].next = group[i];
    }
  }
}

void HugeGroups::join(std::span<ObjectView> objects) const {
  for (ObjectId id = 0; id < parts_.size(); ++id) {
    if (parts_[id].leader == id) continue;
    const ObjectView part = std::exchange(
        objects[id], {.id = id, .tier = objects[id].tier, .movable = false});
    auto& whole = objects[parts_[id].leader];
    whole.bytes += part.bytes;
    whole.loads += part.loads;
    whole.stores += part.stores;
    whole.waited += part.waited;
    whole.movable = whole.movable && part.movable;
    if (parts_[id].next == kNoObject) whole.after = part.after;
  }
}

}  // namespace thermocline
