// Plan: where each tensor of a repeating step lies, and when it moves.
//
// What a policy decides ahead for an Iteration, executed again in every step:
// by the replayer (replay.h), and by the daemon ahead of use. A plan says where
// each tensor is born and which copies are made between which operators. One
// engine makes the copies one after another beside the job; an operator from
// `needed` on finds the tensor in its new place, and waits if it is not there
// yet. Until then the tensor takes room in both places.
//
// A synchronous move, for which the job stands still, has start == needed.
//
// Thread safety: plain values, pure functions.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "estimator/overlap.h"
#include "policies/iteration.h"

namespace thermocline {

struct Plan;

// What a job may use.
struct Room {
  std::vector<Bytes> capacity;  // by tier, fastest first; of the slowest too
  // Most that copies may move; they are never faster than the tiers' links.
  double copy_bytes_per_s = std::numeric_limits<double>::infinity();
  // Asked now and then by a planner that takes long: false, and it comes back
  // with the best that it has. None: it takes the time it may.
  std::function<bool()> go_on = {};
  // Told by a planner that takes long of a legal plan to follow until there is
  // a better one; seldom. None: only the last is wanted.
  std::function<void(const Plan&)> so_far = {};
  // Of each tensor, by whoever allocates it: 64, or a page. A power of two.
  Bytes alignment = Iteration::kAlignment;
};

struct Plan {
  // By tensor: the tier in which it is born, or in which a persistent one lies
  // when the step begins.
  std::vector<TierId> birth;
  // In the order in which they are made: neither `start` nor `needed`
  // decreases. Copy::tensor is a tensor of the Iteration; its source is where
  // it lies then. `needed` == operators(): by the end of the step.
  std::vector<Copy> moves;
  // What the planner has to say of it ("gap 0.3 % after 10 s"); may be empty.
  std::string note;
  // Whether a tensor that is copied out of the slowest tier leaves its copy
  // there, as it does in AutoTM: until an operator writes the tensor, its way
  // back is then free. For whoever allocates the job's tensors. Pages that move
  // leave nothing behind, so whoever moves pages must refuse such a plan.
  bool keeps_copies = false;
};

/// Orders moves as Plan wants them: by `needed`, then `start`, then as they
/// came; a move that may start before one that is needed earlier waits for it
/// (its `start` grows, never beyond its `needed`).
void put_in_order(std::vector<Copy>& moves);

/// Where each tensor that is alive when a step begins lies then: a persistent
/// one where it is born, one that wraps where the step before left it. All
/// others: their birth.
std::vector<TierId> at_start(const Plan& plan, const Iteration& iteration);

/// The first rule that the plan breaks, or success: a legal tier for every
/// tensor; moves in order, of known tensors, to another tier than where they
/// lie, of tensors that are alive from `start` up to `needed` (a persistent one
/// at any time; one that dies at operator k may be needed by k - 1 at the
/// latest); one move of a tensor at a time; no tier ever above its capacity,
/// copies under way counted in both places; and persistent tensors end the step
/// where they began it; where copies are kept, the slowest tier has room for
/// all that is alive. At one operator the order is: deaths, moves, births;
/// moves that are synchronous take effect one by one in their order.
/// Errors: kInvalid, naming the tensor or operator. Cost: O(tensors + moves).
Status check(const Plan& plan, const Iteration& iteration, const Room& room);

/// The same in bytes: what each tier holds at its fullest under the plan.
/// Kept copies are not counted. Requires: all of check() but capacity.
std::vector<Bytes> peak_use(const Plan& plan, const Iteration& iteration);

}  // namespace thermocline
