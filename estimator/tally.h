// Tally: which objects each window of a trace touched, and how often.
//
// Thread safety: pure functions. Units: estimated accesses (samples times
// their period).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "estimator/differential.h"
#include "estimator/windows.h"

namespace thermocline {

struct Tally {
  // By window; each ordered by object. cost holds the share of the window's
  // weight.
  std::vector<std::vector<WindowAccess>> windows;
  double inside = 0;  // accesses that lie in a region
  double all = 0;     // all accesses
  double samples = 0;
};

/// What a sample weighs: a figure above 0.
using Weigh = std::function<double(const Sample&)>;

/// The accesses that a sample stands for; a store counts store_weight times.
Weigh by_accesses(double store_weight);

/// Counts the samples of a trace by window and region.
Tally tally(const Trace& trace, const WindowCuts& cuts,
            const RegionMap& regions, const Weigh& weigh);
/// The same with a weight for each sample, above 0.
Tally tally(const Trace& trace, const WindowCuts& cuts,
            const RegionMap& regions, std::span<const double> weights);

/// The mean of two tallies, window by window; where only one of them has
/// accesses, that one.
Tally mean(const Tally& a, const Tally& b);

/// `a`; where it has no accesses in a window, `b`.
Tally first_of(Tally a, const Tally& b);

/// Lends each window without accesses the shares of the nearest that has some:
/// of its phase, or, where none of that has, of all. Requires: one has.
void lend_shares(Tally& tally, std::span<const PhaseWindows> phases);

}  // namespace thermocline
