#include "policies/planner.h"

#include <nlohmann/json.hpp>

namespace thermocline {

Planner::Planner()
    : online_(*Registry<Policy>::make("policy", "hottest_first",
                                      nlohmann::json::object())) {}

}  // namespace thermocline
