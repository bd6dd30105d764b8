#include "daemon/own_memory.h"

#include <numaif.h>

#include "daemon/node_mask.h"

namespace thermocline {
namespace {

constexpr int kPreferredMany = 5;  // MPOL_PREFERRED_MANY, Linux 5.15

}  // namespace

bool prefer_tier(const Machine& machine, TierId tier) {
  if (machine.tiers.size() < 2 || machine.tiers[tier].nodes.empty()) {
    return true;
  }
  const auto mask = node_mask(machine.tiers[tier].nodes);
  // Before 5.15 there is only the policy for one node: the lowest of these.
  if (set_mempolicy(kPreferredMany, mask.data(), kMaxNodes) != 0 &&
      set_mempolicy(MPOL_PREFERRED, mask.data(), kMaxNodes) != 0) {
    return false;
  }
  // What the loader touched before; what does not move stays where it is.
  const Tier& other = tier == 0 ? machine.tiers.back() : machine.tiers.front();
  const auto from = node_mask(other.nodes);
  (void)migrate_pages(0, kMaxNodes, from.data(), mask.data());
  return true;
}

bool prefer_slowest(const Machine& machine) {
  return prefer_tier(machine, static_cast<TierId>(machine.tiers.size() - 1));
}

}  // namespace thermocline
