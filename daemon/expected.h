// Expected: accesses to a target's regions that the job itself tells of.
//
// Kept apart from what was sampled, so that a report never shows as seen what
// was only said. They count for one window and are then gone: a job that falls
// silent, or was wrong, is forgotten by itself.
// Thread safety: none.
#pragma once

#include <utility>
#include <vector>

#include "policies/policy.h"

namespace thermocline {

class Expected {
 public:
  struct Accesses {
    double loads = 0;
    double stores = 0;
  };

  void add(ObjectId region, const Accesses& more) {
    if (now_.size() <= region) now_.resize(region + std::size_t{1});
    now_[region].loads += more.loads;
    now_[region].stores += more.stores;
  }
  /// In this window so far.
  Accesses now(ObjectId region) const { return of(now_, region); }
  /// In the last whole one.
  Accesses last(ObjectId region) const { return of(last_, region); }
  void end_window() { last_ = std::exchange(now_, {}); }

 private:
  static Accesses of(const std::vector<Accesses>& all, ObjectId region) {
    return region < all.size() ? all[region] : Accesses{};
  }

  std::vector<Accesses> now_;
  std::vector<Accesses> last_;
};

}  // namespace thermocline
