#include "daemon/page_moves.h"

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/tier_move.h"

namespace thermocline {

std::uint64_t extents_of(std::span<const MoveOrder> orders, Bytes page) {
  std::map<TierId, std::vector<Address>> bound;
  for (const auto& order : orders) {
    auto& pages = bound[order.to];
    pages.insert(pages.end(), order.pages.begin(), order.pages.end());
  }
  std::uint64_t extents = 0;
  for (auto& [tier, pages] : bound) {
    std::sort(pages.begin(), pages.end());
    for (std::size_t i = 0; i < pages.size(); ++i) {
      extents += i == 0 || pages[i] > pages[i - 1] + page;
    }
  }
  return extents;
}

std::vector<MoveOutcome> move_pages_of(Kernel& kernel, const Machine& machine,
                                       int pid,
                                       std::span<const MoveOrder> orders) {
  std::vector<MoveOutcome> outcomes;
  for (const auto& order : orders) {
    MoveOutcome outcome = outcome_of(order);
    outcome.pages_by_tier.assign(machine.tiers.size(), 0);
    outcomes.push_back(std::move(outcome));
  }
  // Slowest destination first: demotions make the room for promotions.
  for (std::size_t t = machine.tiers.size(); t-- > 0;) {
    TierMove(kernel, machine, pid, static_cast<TierId>(t))
        .run(orders, outcomes);
  }
  return outcomes;
}

}  // namespace thermocline
