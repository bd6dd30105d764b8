// The ways of sending additions, compared on one job: bytes, clocks and time to
// a target loss, in bulk and within a budget.
//
// Thread safety: collective. Errors: those of the job.
#pragma once

#include <functional>
#include <string>

#include "training/ranks/ranks.h"

namespace thermocline {

// One after each clock (ordered loops: each epoch).
struct Progress {
  double loss = 0;
  double bytes = 0;    // sent and fetched so far, by all ranks
  double seconds = 0;  // so far, of this rank, without computing the loss
};

struct SendingOptions {
  std::int64_t staleness = 32;       // of all but bulk, which has 0
  double target = 0;                 // loss to reach
  std::string judged = "magnitude";  // the way that compare_sending returns of
  // Each way is judged at its best rate, the one with the fewest bytes: staler
  // data allow smaller steps only, so at one rate for all, ways would be
  // compared at the best rate of one of them.
  std::vector<double> rates{1};
};

/// Runs the whole job with that order (pending.h), staleness and rate.
using SendingJob = std::function<Result<std::vector<Progress>>(
    const std::string& order, std::int64_t staleness, double rate)>;

/// Prints a table on rank 0. Returns there whether the way that is judged got
/// to the target, with fewer bytes than in bulk.
Result<bool> compare_sending(Ranks& ranks, const SendingOptions& options,
                             const SendingJob& job);

}  // namespace thermocline
