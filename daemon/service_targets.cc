// Which processes a service manages: those it was told, and those found.
#include <algorithm>
#include <utility>

#include "daemon/service.h"

namespace thermocline {
namespace {

constexpr std::size_t kMostEnded = 1'024;

}  // namespace

Status Service::attach(int pid, std::optional<FastShare> share) {
  if (share && !(share->weight > 0)) {
    return invalid("a target's weight must be above 0");
  }
  if (find(pid) != nullptr) {
    return invalid("pid " + std::to_string(pid) + " is managed already");
  }
  const FastShare given = share.value_or(options_.share);
  if (auto status = manage(pid, given); !status) return status;
  if (options_.children) finder_.follow(pid, given);
  return {};
}

Status Service::manage(int pid, const FastShare& share) {
  auto options = options_.target;
  options.tied.aside = options_.threads;
  auto target = Target::attach(kernel_, machine_, pid, options);
  if (!target) return target.error();
  // Who only watches is in nobody's way.
  auto claim = mover_->moves() ? kernel_.claim(pid) : Claim();
  if (!claim) return claim.error();
  auto policy = make_guarded_policy(options_.policy, options_.policy_options);
  if (!policy) return policy.error();
  managed_.push_back(std::make_unique<Managed>(
      kernel_, machine_, serials_++, *std::move(target), *std::move(policy),
      options_.guards));
  managed_.back()->set_share(share);
  managed_.back()->keep(*std::move(claim));
  make_plan(*managed_.back());
  return {};
}

Status Service::detach(int pid) {
  for (std::size_t i = 0; i < managed_.size(); ++i) {
    if (managed_[i]->target().pid() != pid) continue;
    WindowReport unused;
    let_go(i, unused);
    finder_.give_up(pid);  // or a rule would bring it back
    return {};
  }
  return not_found("pid " + std::to_string(pid) +
                   " is not managed; `targets` lists those that are");
}

void Service::let_go(std::size_t index, WindowReport& report) {
  auto last = managed_[index]->report();
  last.ended = true;
  tensors_.forget(last.pid);
  moves_thread_->drop(managed_[index]->serial());
  managed_.erase(managed_.begin() + static_cast<std::ptrdiff_t>(index));
  report.targets.push_back(last);
  if (ended_.size() == kMostEnded) ended_.erase(ended_.begin());
  ended_.push_back(std::move(last));
}

void Service::find_targets() {
  for (const auto& found : finder_.look(pids())) {
    const auto status = manage(found.pid, found.share);
    if (status) continue;
    const bool first = finder_.put_off(found.pid);
    // One that has just ended is nobody's concern.
    if (!first || status.error().code == Error::Code::kNotFound) continue;
    notice("pid " + std::to_string(found.pid) +
           " was found and cannot be managed: " + status.error().message +
           "; tried again now and then");
  }
}

}  // namespace thermocline
