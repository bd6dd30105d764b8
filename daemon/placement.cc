#include "daemon/placement.h"

#include <nlohmann/json.hpp>

#include "policies/policy.h"

namespace thermocline {

Result<std::vector<int>> birth_nodes(const std::string& policy,
                                     const Machine& machine) {
  auto made =
      Registry<Policy>::make("policy", policy, nlohmann::json::object());
  if (!made) return made.error();
  const TierId tier = (*made)->birth_tier(machine.tiers.size());
  if (tier == kNoTier) return std::vector<int>{};
  if (machine.tiers.size() < 2) {
    return unsupported("policy " + policy +
                       " needs two tiers of memory; this machine has one; "
                       "--machine FILE describes another");
  }
  return machine.tiers[tier].nodes;
}

}  // namespace thermocline
