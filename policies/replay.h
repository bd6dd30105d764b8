// replay: what a repeating job does under a plan or a policy.
//
// Runs an Iteration's steps one after another without a machine: tensors are
// born, used and die; every tier has an allocator (tier_heap.h), so that a
// tensor that finds no hole goes to a slower tier than it was meant for;
// operators take the time that OperatorModel gives; copies are made by one
// CopyEngine beside them. Under a plan, operators wait for what it says they
// need. An online policy is asked every few operators, for live tensors as
// objects; its copies take effect when they are done, and nobody waits for
// them.
//
// To an online policy, a tensor of the next step is the same object as in this
// one: a job's allocator gives it the same addresses again, and it is those
// that a daemon sees. Its accesses are those of whole reads and writes in lines
// of 64 bytes: no sampling, no cache.
//
// Thread safety: none for one policy; else pure, but for what Options call.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policies/policy.h"

namespace thermocline {

struct ReplayOptions {
  std::size_t steps = 8;   // at least 1
  std::size_t window = 0;  // operators between decisions; 0: an eighth of them
  // Seconds on any clock, to time decisions; none: they are not timed.
  std::function<double()> clock = {};
  // Asked once a step with the steps done, and with none while a plan is made;
  // false ends the replay there.
  std::function<bool(std::size_t)> go_on = {};
};

// A move as it was made.
struct Moved {
  std::size_t step = 0;
  std::size_t begun = 0;     // operator before or during which the copy began
  std::size_t in_force = 0;  // first operator that finds it there
  std::uint32_t tensor = 0;
  TierId from = 0;
  TierId to = 0;
  bool operator==(const Moved&) const = default;
};

// A tensor that found no hole where it was to go: at birth it then went to a
// slower tier, on a move it stayed.
struct Unplaced {
  std::size_t step = 0;
  std::size_t op = 0;
  std::uint32_t tensor = 0;
  TierId tier = 0;
  bool birth = false;
  bool operator==(const Unplaced&) const = default;
};

struct Replayed {
  std::vector<double> steps_ns;  // each step's time, all included
  double waited_ns = 0;          // of all, for copies
  Bytes copied = 0;              // in all steps
  std::vector<Bytes> copied_by_step;
  std::vector<Moved> moves;  // of all steps, in order of in_force
  std::vector<Unplaced> unplaced;
  std::vector<TierId> births;       // by tensor, in the last step
  std::vector<Bytes> most_used;     // by tier
  std::vector<Bytes> extent;        // by tier: with the holes below the top
  std::vector<double> decisions_s;  // one of a plan, or one a window
  bool planned = false;
  std::string note;  // what the plan says, or why there is none

  /// A step's time once things have settled: the mean of the last half.
  double steady_ns() const;
  /// Likewise, bytes copied in a step.
  double steady_copied() const;
  double total_ns() const;
};

/// Errors: what check() says of the plan; kInvalid when the job does not fit
/// into all tiers together.
Result<Replayed> replay(const Iteration& iteration, const Room& room,
                        const Plan& plan, const ReplayOptions& options = {});

/// Asks the policy for a plan and replays that; without one it is asked online.
/// Errors: as above, naming a plan that breaks a rule or an illegal decision.
Result<Replayed> replay(const Iteration& iteration, const Room& room,
                        Policy& policy, const ReplayOptions& options = {});

}  // namespace thermocline
