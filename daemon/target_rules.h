// target_rules: "targets" of the configuration, processes to manage as they
// come, as rules of TargetFinder.
//
// Thread safety: pure, but for the look into the list of users.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "daemon/target_finder.h"

namespace thermocline {

/// A list of objects with the keys cgroup, exe, user (a name or a number),
/// least, children, weight and minimum, as in OPERATION.md. Errors: kInvalid,
/// kNotFound for an unknown user; both say which rule.
Result<std::vector<TargetRule>> target_rules(const nlohmann::json& said);

}  // namespace thermocline
