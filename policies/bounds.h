// Bounds: times of a step that no placement can beat within a capacity.
//
// What a table of policies is read against. Each holds for any policy that may
// only choose where tensors lie; both are true bounds of OperatorModel's times,
// found without rounding anything to whole tensors, so a policy that comes near
// is near the optimum and one that does not may still be.
//
// Of more than two tiers all but the fastest count as the second, which makes
// the bounds lower, never wrong.
//
// Thread safety: pure functions. Units: nanoseconds of one step.
#pragma once

#include "policies/iteration.h"

namespace thermocline {

/// Belady with free transfers: before each operator, those of its tensors that
/// gain most are put into `fast` bytes, at no cost and whatever lay there. No
/// plan beats it, whatever it moves and however fast copies are. Operators of
/// more than 10 tensors: the fractional relaxation.
/// Cost: O(operators * 2^(their tensors)).
double free_moves_bound_ns(const Iteration& iteration, Bytes fast);

/// The linear relaxation of static placement: every tensor is in one tier all
/// its life, what is alive fits at every operator, tensors may be divided.
/// No placement without moves beats it. Errors: as load_solver(). Cost: a
/// linear program of one variable a tensor and one row for each set of tensors
/// alive together.
Result<double> static_bound_ns(const Iteration& iteration, Bytes fast);

}  // namespace thermocline
