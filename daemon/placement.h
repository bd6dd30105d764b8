// Where a launcher lets the kernel put a job's new pages.
#pragma once

#include <string>
#include <vector>

#include "estimator/machine.h"
#include "traces/result.h"

namespace thermocline {

/// The NUMA nodes that a job under this policy is bound to at birth: those of
/// the fastest tier for all_fast, of the slowest for all_slow, none (the
/// kernel decides) for policies that place by moving. Errors: kNotFound for
/// an unknown policy; kUnsupported for a bound on a machine with one tier.
Result<std::vector<int>> birth_nodes(const std::string& policy,
                                     const Machine& machine);

}  // namespace thermocline
