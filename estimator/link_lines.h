// Link lines: how many lines an access of each class brings over a tier's
// link, and how many it sends back, where the counters of a memory controller
// tell.
//
// Samples do not show all traffic: a prefetcher fetches lines that nobody asks
// for, and a line that is loaded and then written goes back although no store
// ever missed. A memory controller counts them all (CAS counts of Intel's and
// AMD's), but not whose they are. So the lines between two readings of the
// counters are split among the classes of the samples between them: by least
// squares, no class below zero, held to what is to be expected of a class (a
// line for each access, and one back for each store) where they always come
// together.
//
// Thread safety: a pure function.
#pragma once

#include <vector>

#include "estimator/access_classes.h"
#include "estimator/machine.h"
#include "traces/trace.h"

namespace thermocline {

/// Sets lines and back of each class. `slow` and `fast` ran all in the
/// machine's slowest and fastest tier; `written`, by class, is what part of its
/// lines can be dirty (store_hits.h); empty: not known. Without counters of
/// lines, or with too few of them, nothing is changed. Cost: O(samples +
/// readings * classes^2).
void learn_link_lines(const Trace& slow, const Trace& fast,
                      const Machine& machine, AccessClasses& classes,
                      const std::vector<double>& written = {});

}  // namespace thermocline
