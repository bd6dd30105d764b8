// under_machine: a job as it might have run on another machine.
//
// Domain randomisation for training: an agent that has met one machine only
// takes its latencies and its price of moves for granted. What a job loses in
// slow memory is scaled, access by access, by what the two machines charge for
// loads and stores (estimator/access_cost.h); its time in the fastest tier
// stays. Modelled, and said to be: to learn from, not to judge a machine by.
//
// Thread safety: a pure function.
#pragma once

#include "agent/world.h"
#include "estimator/machine.h"
#include "traces/result.h"

namespace thermocline {

/// Errors: kInvalid when the machine has one tier, or does not say that its
/// slowest is slower than its fastest.
Result<World> under_machine(const World& world, const Machine& machine);

}  // namespace thermocline
