// Was a placement chosen by what is hot, but not by these samples?
//
// Who picks the pages with the most samples picks those that were lucky, so
// what chance explains is taken away again (smoothing.h). A placement that
// another recording chose, or a longer one, did not pick these samples' luck,
// and to take it away there understates what it gains. Counts tell the two
// apart: within 64 neighbouring objects, how closely does the placement follow
// them? Of counts with variance T, V of it chance (Poisson), a choice by what
// is truly hot correlates with them by sqrt(1 - V/T) at most, a choice by the
// counts themselves by 1, one by anything else by about 0. It is what is
// nearest, but by heat only if chance would not follow them as closely (three
// standard errors). With many samples an object all are one, and it does not
// matter. Where objects are either hot or cold, and nothing between, a choice
// by what is true comes near to 1 as well, and is taken for one by the counts.
//
// Thread safety: const after construction.
#pragma once

#include <span>
#include <vector>

#include "traces/regions.h"
#include "traces/trace.h"

namespace thermocline {

class ChosenElsewhere {
 public:
  /// Counts the samples of `runs`, whose addresses are the objects'.
  ChosenElsewhere(std::span<const Trace* const> runs,
                  std::span<const Region> objects);

  /// Whether a placement follows what is hot, and neither the samples of one of
  /// the runs nor all of them chose it. `slowness` of each object's tier, 0 the
  /// fastest. Cost: O(runs * objects).
  bool operator()(std::span<const double> slowness) const;

 private:
  std::vector<std::vector<ObjectId>> neighbours_;
  std::vector<std::vector<double>> counts_;  // by run, then of all together
};

}  // namespace thermocline
