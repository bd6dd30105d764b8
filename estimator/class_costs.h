// Class costs: what an access of each class costs a job that lies in one tier,
// solved from the trace.
//
// A trace is cut into groups of 16 samples in a row. The time of a group is
// the sum of its classes' costs; from all groups, non-negative least squares
// give the costs, held to a prior (what the machine's figures make of a class)
// where the trace has no evidence: classes that come mixed finely, always in
// the same proportion, cannot be told apart by time. Evidence is that a sample
// is followed by one of its own class more often than chance has it.
//
// Prior: a sequential access costs the transfer of its lines (64 bytes at the
// tier's bandwidth, and for a store the line's way back). Any other costs that,
// or the latency of idle memory shared with those that were in flight before
// it, whichever is larger; how many they were its sampled latency tells, by
// what it exceeds that of idle memory: a miss that finds the link idle is
// waited for, one of a burst is not. Where latencies are not sampled, nine are
// taken to be before it. Time that the links do not explain is the others', not
// the sequential classes'.
//
// Where samples tell their retire latency, nothing needs to be solved: a class
// costs what was waited for it, and its share of the computing between.
//
// One run alone leaves open which of two classes that come together took the
// time, and two runs may be solved to contradict one another: a class that is
// cheaper in slow memory, or twenty times dearer. So both are solved at once.
//
// Thread safety: pure functions. Units: nanoseconds for each sample (not
// access).
#pragma once

#include <vector>

#include "estimator/access_classes.h"
#include "estimator/machine.h"

namespace thermocline {

inline constexpr std::size_t kGroup = 16;  // samples

/// Time that the lines of one access of this class hold the tier's link; 0
/// where the machine does not know its bandwidths.
double link_ns(const AccessClass& what, const Tier& tier);

/// By class, the cost of one sample of `trace`, which ran all in `tier`. Their
/// sum over all samples is the run time. Requires: a sorted trace with samples.
std::vector<double> class_costs(const Trace& trace,
                                const AccessClasses& classes, const Tier& tier,
                                double cycles_per_ns);

struct TracedIn {
  const Trace& trace;
  const Tier& tier;
};
struct BothCosts {
  std::vector<double> slow;
  std::vector<double> fast;
};

/// The same of two runs of one job, solved together: what a class takes of the
/// whole run is no less in the slower tier, and more by no more than that tier
/// is slower in what the class may wait for; but that both are scaled to their
/// runs' whole time at last. Requires: as above, of both.
BothCosts class_costs(const TracedIn& slow, const TracedIn& fast,
                      const AccessClasses& classes, double cycles_per_ns);

}  // namespace thermocline
