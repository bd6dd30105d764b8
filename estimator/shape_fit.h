// Shape fit: learns how a job makes its accesses (core_run.h) from what its two
// runs took and how long their loads waited.
//
// What the counters say of instructions and of cycles without a stall is what a
// class does between two accesses. How many accesses it makes in a row, and how
// often the next one needs the result, no counter says: both are chosen so that
// a core run of the job's own mixture takes the time of the slow run and of the
// fast one, and its loads the latencies that were sampled in each. A load of a
// burst waits behind its own kind, one that is needed meets an idle link. Of a
// sequential class only those are waited for that nothing fetched ahead, at the
// beginning of a page; whether the next access needs them (of an index, what it
// points to) is chosen likewise, in doubt for no. Where samples tell their
// retire latency, the core must wait for each class as long as was waited for
// it, too: that tells a load that everything waits for from one that nothing
// does, where both find the link idle.
//
// How many accesses of several classes come together before the job computes,
// and how many instructions lie between these, the runs hardly tell: accounts
// with one to sixteen (of more, while that explains them better), 0, 32 or 64
// instructions apart, explain them about as well, and differ in what mixes
// take. So all are kept that do, and weigh by how well. Nothing is fitted on
// mixed placements.
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <span>
#include <vector>

#include "estimator/access_classes.h"
#include "estimator/core_run.h"
#include "estimator/machine.h"
#include "traces/trace.h"

namespace thermocline {

// What is known of a class in both runs: [0] the fast one, [1] the slow one.
struct ClassTimes {
  std::array<double, 2> sample_ns{};   // what a sample of the slow run takes
  std::array<Latencies, 2> latency{};  // of its loads; none: not told
  double samples = 0;                  // of the slow run
  // What the core waited for an access alone (retire latency); below 0: not
  // told.
  std::array<double, 2> waited_ns{-1, -1};
};

// The slow run's samples as steps; company by class (class_mixing.h).
struct Mixture {
  std::vector<std::uint32_t> of_sample;
  std::vector<std::uint32_t> company;
};

/// With the machine's figures of each tier; at least one. Requires: times for
/// each class; at most kMostLinks tiers. Cost: some hundred core runs of a few
/// thousand accesses for each class and account.
std::vector<AccessModel> fit_shapes(const Trace& slow,
                                    const AccessClasses& classes,
                                    std::span<const ClassTimes> times,
                                    const Mixture& mixture,
                                    const Machine& machine);

}  // namespace thermocline
