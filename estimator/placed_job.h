// PlacedJob: a job's estimated time while objects are moved one by one.
//
// For whoever searches: a policy that tries moves, an agent's environment. The
// time always equals Differential::total_ns() of the placement, to the last
// bit, however many moves led there.
//
// Thread safety: none; one a thread. Does not own the Differential, which must
// outlive it.
#pragma once

#include <span>
#include <vector>

#include "estimator/differential.h"

namespace thermocline {

class PlacedJob {
 public:
  /// Requires: a tier of the machine for each object. Cost: of a total_ns().
  PlacedJob(const Differential& job, std::vector<TierId> placement);

  double total_ns() const { return to_ns(time_); }
  std::span<const TierId> placement() const { return placement_; }
  /// Moves one object. Cost: O(1), and where the job saves by using two links
  /// (savings.h), 16 samples for each group that the object is in.
  void move(ObjectId object, TierId to);
  /// What the time would be after move(object, to). Cost: as move().
  double total_ns_after(ObjectId object, TierId to);

 private:
  const Differential* job_;
  TierId slowest_;
  std::vector<TierId> placement_;
  std::vector<FineNanos> saved_;  // by stretch
  FineNanos time_ = 0;
};

}  // namespace thermocline
