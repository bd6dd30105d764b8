// PlanRoom: what leaves fast memory for a plan that finds no room there.
//
// A plan knows the tensors of a step. What a job touched before its first step
// (libraries, an interpreter, the data that it read) fills fast memory first,
// and no plan would ever move it. So while a plan lacks room, what is no tensor
// of it and is cold makes room, the coldest first.
//
// Thread safety: a pure function.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "estimator/view.h"

namespace thermocline {

// Cold: with so small a share of the accesses that a byte has in the mean.
inline constexpr double kColdShare = 1.0 / 16;

/// Demotions from the fastest tier to `to` of at least `lacking` bytes, or of
/// all that is cold. `accesses`: of each object, in a recent window's mean.
/// None where no access is known: what is cold cannot be told.
/// `planned`: whether an object has memory of a tensor of the plan; asked of
/// cold ones only. Requires: accesses.size() == objects.size().
std::vector<Move> make_room(std::span<const ObjectView> objects,
                            std::span<const double> accesses, Bytes lacking,
                            TierId to,
                            const std::function<bool(ObjectId)>& planned);

}  // namespace thermocline
