// StaticPlacement: where a job's regions lie for all of a run, or from its
// start on until they are moved, for `thermocline estimate`; and what that
// takes of each tier.
//
// Thread safety: pure functions, plain values.
#pragma once

#include <string>
#include <vector>

#include "estimator/migration.h"
#include "policies/policy.h"
#include "traces/region_index.h"
#include "traces/trace.h"

namespace thermocline {

// What is known of a job's memory from its traces.
struct JobMemory {
  std::vector<Bytes> bytes;   // by region: all of one that was accessed
  std::vector<double> loads;  // by region, over the whole run
  std::vector<double> stores;
  std::vector<double> gain_ns;  // by region: in fastest against slowest
  std::vector<ObjectId> order;  // accessed regions, by first access
  // Of all regions that were accessed, by samples or by what neighbours'
  // samples make likely (smoothing.h); and of those with a sample of their own.
  Bytes accessed = 0;
  Bytes sampled = 0;
  // The job's own memory at its peak, but no less than `accessed`. The rest
  // was never sampled: nothing is known of where in the job it lies.
  Bytes total = 0;
  Bytes unseen() const { return total - accessed; }

  /// `trace`: one that `made` comes from.
  static JobMemory of(const Differential& made, const Trace& trace);
};

struct StaticPlacement {
  std::string name;
  std::vector<TierId> tiers;         // by region
  std::vector<Bytes> bytes_by_tier;  // what it takes, never sampled included
  Bytes moved_bytes = 0;             // of a policy: since the job's start
  double move_ns = 0;                // what these moves would cost, once
  std::string note;                  // a doubt, or empty
  std::vector<ScheduledMove> moves;  // while the job runs
  double move_bytes_per_s = 0;       // that they may use; 0: no bound

  Schedule schedule() const { return {tiers, moves, move_bytes_per_s}; }
};

/// All memory in one tier.
StaticPlacement all_in(const Differential& made, const JobMemory& memory,
                       TierId tier);

/// `share` of the job's bytes in the fastest tier, by gain per byte, the rest
/// in the slowest. What was never sampled comes last; share 0 and 1 are the
/// endpoints exactly. Requires: 0 <= share <= 1.
StaticPlacement hottest(const Differential& made, const JobMemory& memory,
                        double share);

/// Where a policy lets the job's memory lie when all windows are alike (its
/// mean accesses, unlimited budget): starts where the policy has pages born
/// (first touch by default, in order of first access until a tier is full),
/// then decides again and again until it moves no more. Memory that was never
/// sampled is there as well, cold, spread over the order of first access.
/// Errors: kInvalid for a tier (but the slowest) of unknown capacity.
Result<StaticPlacement> settled(const Differential& made,
                                const JobMemory& memory, Policy& policy);

/// kInvalid, naming tier and bytes, when a tier of known capacity would hold
/// more than that.
Status check_fits(const Machine& machine, const StaticPlacement& placement);

}  // namespace thermocline
