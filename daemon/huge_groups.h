// HugeGroups: the regions that lie in one huge page, and so move as one.
//
// The kernel moves a huge page as a whole. A policy that sees its parts one by
// one puts the coldest of them out and drags the warm ones along, fetches them
// back, and so on. So to the policy they are one object, under the number of
// the first; the others are empty as long as they lie there. HeMem (SOSP 2021)
// and MEMTIS (SOSP 2023) manage huge pages as one, too.
//
// Thread safety: none.
#pragma once

#include <span>
#include <vector>

#include "daemon/target.h"
#include "estimator/view.h"

namespace thermocline {

class HugeGroups {
 public:
  /// Looks anew which regions of the target lie in one huge page, as far as it
  /// knows. Cost: O(regions), nothing where none does.
  void find(const Target& target);

  /// The one that stands for a region: the first of its huge page, or itself.
  ObjectId leader(ObjectId id) const {
    return id < leaders_.size() ? leaders_[id] : id;
  }
  /// Calls use(id) for each region that moves with this one, by address.
  /// Requires: a leader.
  void each(ObjectId leader, auto&& use) const {
    for (ObjectId id = leader; id != kNoObject; id = next(id)) use(id);
  }
  /// The leaders of all regions, by number (View::whole); empty where each is
  /// on its own.
  std::span<const ObjectId> leaders() const { return leaders_; }

 private:
  ObjectId next(ObjectId id) const {
    return id < next_.size() ? next_[id] : kNoObject;
  }

  // By region; none: each is on its own.
  std::vector<ObjectId> leaders_;
  std::vector<ObjectId> next_;  // in the same huge page
};

}  // namespace thermocline
