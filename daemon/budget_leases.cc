#include "daemon/budget_leases.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr Nanos kLongestWait = 1'000'000'000;

}  // namespace

Result<BudgetLeases::Lease*> BudgetLeases::lease_of(const std::string& name,
                                                    double weight,
                                                    Grant& grant) {
  const auto at = std::ranges::find(leases_, name, &Lease::name);
  if (at != leases_.end() && at->weight == weight) return &*at;
  if (at != leases_.end()) {
    return invalid("\"" + name + "\" shares the budget with another weight");
  }
  if (name.size() > kLongestName) {
    return invalid("a consumer's name has at most " +
                   std::to_string(kLongestName) + " bytes");
  }
  if (leases_.size() >= kMost) {
    return invalid(std::to_string(kMost) +
                   " consumers share the budget already; try again later");
  }
  const auto id = budget_.add(name, weight);
  if (!id) return id.error();
  leases_.push_back({name, *id, weight, 0, 0});
  grant.joined = true;
  return &leases_.back();
}

// Until its share of the rate has brought so much. What others leave over may
// come sooner, hence the limit.
Nanos BudgetLeases::wait_for(const Lease& lease, Bytes bytes) const {
  double all = 0;
  for (const auto& use : budget_.uses()) all += use.weight;
  const double rate =
      static_cast<double>(budget_.rate()) * lease.weight / std::max(all, 1e-9);
  const double ns = 1e9 * static_cast<double>(bytes) / std::max(rate, 1.0);
  return ns < 1e9 ? static_cast<Nanos>(ns) : kLongestWait;
}

Result<BudgetLeases::Grant> BudgetLeases::use(const std::string& name,
                                              double weight, Bytes wanted,
                                              Bytes give_back) {
  Grant out;
  const auto found = lease_of(name, weight, out);
  if (!found) return found.error();
  Lease& lease = **found;
  lease.heard_at = kernel_.now();
  // No more than it ever had: nobody makes budget out of nothing.
  give_back = std::min(give_back, lease.granted);
  budget_.give_back(lease.id, give_back);
  lease.granted -= give_back;
  if (budget_.rate() == 0) {
    out.bytes = wanted;
    return out;
  }
  out.bytes = std::min(wanted, budget_.available(lease.id, lease.heard_at));
  budget_.take(lease.id, out.bytes);
  lease.granted += out.bytes;
  if (out.bytes < wanted) out.wait = wait_for(lease, wanted - out.bytes);
  return out;
}

Status BudgetLeases::leave(const std::string& name) {
  const auto at = std::ranges::find(leases_, name, &Lease::name);
  if (at == leases_.end()) {
    return not_found("no consumer \"" + name + "\" shares the budget");
  }
  budget_.remove(at->id);
  leases_.erase(at);
  return {};
}

std::vector<std::string> BudgetLeases::forget_silent() {
  std::vector<std::string> out;
  std::erase_if(leases_, [&](const Lease& lease) {
    if (kernel_.now() - lease.heard_at < kSilence) return false;
    budget_.remove(lease.id);
    out.push_back(lease.name);
    return true;
  });
  return out;
}

}  // namespace thermocline
