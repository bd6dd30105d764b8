// What every planner does with its plan in the end.
//
// Planners see two tiers, the fastest and the slowest, and tell a plan by their
// own model of it. So a plan may leave a middle tier empty, or be slower than a
// kernel that plans nothing, where holes or copies cost more than was thought.
//
// Thread safety: pure functions.
#pragma once

#include "policies/plan.h"

namespace thermocline {

/// Of more than two tiers: what would stay in the slowest all its life goes to
/// the fastest of those between that has room throughout, what is used most per
/// byte first. Of two: the plan as it is. Requires: check(plan).
Plan use_middle_tiers(Plan plan, const Iteration& iteration, const Room& room);

/// Where first touch puts each tensor in a step that follows others, as a plan
/// that moves nothing: about as fast, for holes are not where first touch found
/// them. Errors: those of replay(); kInvalid: no such plan is legal.
Result<Plan> first_touch_plan(const Iteration& iteration, const Room& room);

/// use_middle_tiers() of the plan, or first_touch_plan() where replays of both
/// say that this is faster; the note says so then. Errors: those of replay().
Result<Plan> no_worse_than_first_touch(Plan plan, const Iteration& iteration,
                                       const Room& room);

/// The same room, whose so_far() is told of plans that are that, too. Both
/// outlive it.
Room so_far_no_worse(const Iteration& iteration, const Room& room);

}  // namespace thermocline
