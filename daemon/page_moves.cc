#include "daemon/page_moves.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include "daemon/tier_move.h"

namespace thermocline {

Result<std::vector<int>> page_nodes(Kernel& kernel, int pid,
                                    std::span<const Address> pages) {
  std::vector<int> out(pages.size(), kUntouched);
  for (std::size_t at = 0; at < pages.size(); at += kPagesPerQuery) {
    const auto count = std::min(kPagesPerQuery, pages.size() - at);
    const long got = kernel.move_pages(pid, pages.subspan(at, count), {},
                                       {out.data() + at, count});
    if (got >= 0) continue;
    const std::string name = "pid " + std::to_string(pid);
    // EINVAL: it is there, but on its way out, its memory already given back
    // (find_mm_struct in mm/migrate.c).
    if (got == -ESRCH || got == -EINVAL) return not_found(name + " has gone");
    if (got == -EPERM || got == -EACCES) {
      return permission(name +
                        " may not be looked at; run thermoclined as its user "
                        "or with CAP_SYS_PTRACE");
    }
    return io("asking where pages of " + name +
              " lie: " + std::strerror(static_cast<int>(-got)));
  }
  return out;
}

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
