// PlacedJob: a job's estimated time while objects are moved one by one.
//
// For whoever searches: a policy that tries moves, an agent's environment. The
// time always equals Differential::total_ns() of the placement, to the last
// bit, however many moves led there. Stretches of samples that may save
// (savings.h) are run anew when the time is asked for, so several moves
// between two questions run each once; those whose samples all lie in one tier
// are not run at all; and a move that was tried first has been run already.
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

  /// Cost: O(1), and a core run of 16 accesses a sample for each stretch that
  /// moves have changed since it was last asked and that may save.
  double total_ns();
  std::span<const TierId> placement() const { return placement_; }
  /// Moves one object. Cost: O(stretches that it is in).
  void move(ObjectId object, TierId to);
  /// What the time would be after move(object, to). Cost: as of that and
  /// total_ns().
  double total_ns_after(ObjectId object, TierId to);

 private:
  struct Stretch {
    FineNanos saved = 0;
    bool changed = false;  // since it was run
  };
  struct Trial {  // a move that was tried last
    bool known = false;
    ObjectId object = 0;
    TierId to = 0;
    std::vector<FineNanos> saved;  // in each of its parts
  };
  bool mixed(std::size_t stretch) const;
  void count(std::span<const Savings::Part> parts, TierId from, TierId to);

  const Differential* job_;
  std::vector<TierId> placement_;
  std::vector<std::uint32_t> samples_;  // by stretch and tier
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> changed_;  // stretches
  Trial trial_;
  FineNanos time_ = 0;
};

}  // namespace thermocline
