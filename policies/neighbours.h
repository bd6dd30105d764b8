// join_neighbours(): copies of tensors that lie side by side become one move.
//
// Pages move faster in one call that takes a run of neighbours than page by
// page; so a plan's copies of adjacent tensors, in the same direction, are made
// at one operator boundary where their times allow it: from the latest of their
// starts, to the earliest operator that needs one of them. That never takes
// room in fast memory, only time for the copies.
//
// Thread safety: pure functions. Units: bytes.
#pragma once

#include "policies/plan.h"

namespace thermocline {

/// Joins copies of neighbours (at most a page apart) whose common time is at
/// least `share` of what the shorter of them had (in operators, plus one).
/// Returns how many copies were joined to another. The plan stays legal.
std::size_t join_neighbours(Plan& plan, const Iteration& iteration,
                            double share, Bytes page);

/// How many moves the plan's copies are when neighbours that start and are
/// needed together count as one.
std::size_t extents(const Plan& plan, const Iteration& iteration, Bytes page);

}  // namespace thermocline
