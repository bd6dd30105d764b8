// Smoothing: what of the differences between neighbours is chance?
//
// Objects as small as pages have few samples each. Whoever picks the pages
// with the most samples picks those that were lucky, and an estimate that
// takes the counts at their word promises too much. So within each run of up to
// 64 neighbouring objects the counts are compared with what chance alone would
// make of equal ones (Poisson): only that share of an object's difference from
// its neighbours is kept by which they differ more (the empirical Bayes
// estimate of James and Stein, 1961).
//
// Thread safety: pure.
#pragma once

#include "estimator/tally.h"

namespace thermocline {

/// Evens out the costs of neighbouring objects in each window. `traces`: how
/// many traces the tally is the mean of. Loads and stores stay as they are.
/// Requires: `how` is not kNone.
void smooth(Tally& tally, const RegionMap& regions, int traces, EvenOut how);

}  // namespace thermocline
