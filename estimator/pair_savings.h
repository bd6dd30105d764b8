// Pair savings: what overlaps in a job, learned from its runs (savings.h).
//
// From the slow run's samples, whose order is guessed (shape_fit.h); or, where
// it was traced with them, from accesses in sequence (sequenced_job.h).
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "estimator/pair_costs.h"
#include "estimator/shape_fit.h"

namespace thermocline {

struct PairSavings {
  Savings savings;
  std::optional<SequencedMisses> sequenced;  // where these told of them
};

/// `runs`: by tier, the fastest first, the slowest last; `times`: by class, of
/// these two. Requires: at most kMostLinks tiers.
PairSavings pair_savings(std::span<const TierRun> runs,
                         const AccessClasses& classes,
                         const std::vector<ClassTimes>& times,
                         const Machine& machine, const RegionMap& regions);

}  // namespace thermocline
