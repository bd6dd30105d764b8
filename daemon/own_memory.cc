#include "daemon/own_memory.h"

#include <numaif.h>

#include <vector>

namespace thermocline {
namespace {

constexpr unsigned kBits = 8 * sizeof(unsigned long);
constexpr int kPreferredMany = 5;  // MPOL_PREFERRED_MANY, Linux 5.15

}  // namespace

bool prefer_slowest(const Machine& machine) {
  if (machine.tiers.size() < 2 || machine.tiers.back().nodes.empty()) {
    return true;
  }
  std::vector<unsigned long> mask(1024 / kBits, 0);
  for (const int node : machine.tiers.back().nodes) {
    const auto bit = static_cast<unsigned>(node);
    if (bit < 1024) mask[bit / kBits] |= 1ul << bit % kBits;
  }
  const auto bits = mask.size() * kBits;
  // Before 5.15 there is only the policy for one node: the lowest of these.
  return set_mempolicy(kPreferredMany, mask.data(), bits) == 0 ||
         set_mempolicy(MPOL_PREFERRED, mask.data(), bits) == 0;
}

}  // namespace thermocline
