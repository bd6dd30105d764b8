#include "daemon/planned.h"

#include <algorithm>
#include <cerrno>

#include "daemon/page_nodes.h"

namespace thermocline {
namespace {

std::vector<Address> whole_pages(const StepFollower::Live& live, Bytes page) {
  std::vector<Address> out;
  const Address end = live.address + live.bytes;
  Address at = (live.address + page - 1) / page * page;
  for (; at < end && end - at >= page; at += page) out.push_back(at);
  return out;
}

// Leaves those of the pages that lie elsewhere than in `to`; the tier of the
// first is where they lie. Without an answer they stay all.
TierId leave_elsewhere(std::vector<Address>& pages, TierId to, Kernel& kernel,
                       const Machine& machine, int pid) {
  const auto nodes = page_nodes(kernel, pid, pages);
  TierId first = kNoTier;
  if (!nodes) return first;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const int node = (*nodes)[i];
    const TierId tier = node < 0 ? kNoTier : machine.tier_of_node(node);
    if (tier == kNoTier || tier == to) continue;
    if (first == kNoTier) first = tier;
    pages[kept++] = pages[i];
  }
  pages.resize(kept);
  return first;
}

}  // namespace

Planned::Planned(std::shared_ptr<const PlanBasis> basis)
    : basis_(std::move(basis)), follower_(basis_->iteration, basis_->marked) {}

void Planned::make(Policy& policy, const Room& room) {
  maker_.reset();
  auto maker = PlanMaker::start(policy, *basis_, room);
  if (maker) {
    maker_ = *std::move(maker);
    trouble_.clear();
    return;
  }
  trouble_ = maker.error().message;
  news_.push_back("no plan: " + trouble_);
}

void Planned::hear(const ObserverEvent& event, Nanos now) {
  if (const auto* tensor = std::get_if<Tensor>(&event.what)) {
    follower_.born(*tensor);
  } else if (const auto* dead = std::get_if<TensorDied>(&event.what)) {
    follower_.died(dead->serial);
  } else if (const auto* op = std::get_if<Operator>(&event.what)) {
    follower_.ran(*op, now);
  } else if (const auto* mark = std::get_if<Mark>(&event.what)) {
    follower_.mark(*mark);
  } else if (const auto* loss = std::get_if<Loss>(&event.what)) {
    // "observer.foreign" is memory of others, and no loss of events.
    if (loss->source == "observer") follower_.lost();
  }
}

void Planned::look() {
  if (!maker_) return;
  auto made = maker_->poll();
  if (maker_->over()) maker_.reset();
  if (!made) return;
  if (*made) {
    follower_.set_plan(**std::move(made));
  } else if (has_plan()) {
    news_.push_back("the plan is not made any better: " +
                    made->error().message);
  } else {
    trouble_ = made->error().message;
    news_.push_back("no plan: " + trouble_);
  }
}

Refusal Planned::judge(const Means& means, const PlanFollower::Wish& wish,
                       Bytes bytes, Bytes budget) const {
  if (means.hold != Refusal::kNone) return means.hold;
  const Address last = wish.live.address + wish.live.bytes - 1;
  for (Address at = wish.live.address; at <= last;
       at = std::min(last + 1, at + means.target.region_bytes())) {
    const auto region = means.target.find(at);
    if (!region) continue;  // mapped since the maps were read
    if (means.target.bound(*region) ||
        means.guards.resting(*region, means.window)) {
      return Refusal::kUnmovable;
    }
  }
  if (bytes > means.room[wish.to]) return Refusal::kCapacity;
  if (bytes > budget) return Refusal::kBudget;
  return Refusal::kNone;
}

MoveTotals Planned::act(const Means& means, std::vector<MoveOrder>& orders) {
  MoveTotals totals;
  const Nanos now = means.kernel.now();
  const Bytes page = means.kernel.page_bytes();
  BudgetShare share = means.budget;
  Bytes budget = share.available(now);
  Bytes at_once = 0;
  Bytes lacking = 0;
  sent_.clear();
  for (const auto& wish : follower_.due(now)) {
    auto pages = whole_pages(wish.live, page);
    TierId from = wish.from;
    if (from == kNoTier && !pages.empty()) {
      from = leave_elsewhere(pages, wish.to, means.kernel, means.machine,
                             means.target.memory_id());
    }
    if (pages.empty()) {
      follower_.done(wish, now, 0);
      continue;
    }
    const Bytes bytes = pages.size() * page;
    if (at_once > 0 && at_once + bytes > kAtOnce) break;
    ++totals.decided;
    const auto why = judge(means, wish, bytes, budget);
    if (why != Refusal::kNone) {
      ++totals.refused[static_cast<std::size_t>(why)];
      follower_.refused(wish, now, why != Refusal::kUnmovable);
      if (why == Refusal::kCapacity && wish.to == 0) lacking += bytes;
      continue;
    }
    if (from == kNoTier) {  // nothing more can be known of the process
      follower_.refused(wish, now, false);
      continue;
    }
    at_once += bytes;
    budget -= bytes;
    means.room[wish.to] -= bytes;
    means.room[from] += bytes;
    ++totals.admitted;
    totals.admitted_bytes += bytes;
    sent_.push_back(wish);
    const auto object = means.target.find(pages.front()).value_or(0);
    orders.push_back({object, from, wish.to, std::move(pages)});
  }
  sent_dry_ = !means.moves;
  lacking_ = std::max(lacking_, lacking);
  return totals;
}

void Planned::landed(const MoveThread::Done& done, Target& target, Nanos now) {
  const auto wishes = std::exchange(sent_, {});
  if (wishes.size() != done.outcomes.size()) return;
  std::size_t all = 0;
  for (const auto& order : done.batch.orders) all += order.pages.size();
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const auto& outcome = done.outcomes[i];
    const auto& pages = done.batch.orders[i].pages;
    const auto failures = outcome.failures();
    for (const Address at : pages) {
      if (outcome.moved == 0) break;
      if (const auto id = target.find(at)) target.want(*id);
    }
    if (failures > 0 && failures >= outcome.moved) {
      follower_.refused(wishes[i], now, outcome.failed.contains(ENOMEM));
      continue;
    }
    // Of a call for all, its share; nothing is learned from one without copies.
    const auto share = static_cast<double>(pages.size()) /
                       static_cast<double>(std::max<std::size_t>(1, all));
    const auto took = static_cast<double>(done.took_ns) * share;
    follower_.done(wishes[i], now,
                   sent_dry_ || outcome.moved < pages.size()
                       ? 0
                       : static_cast<Nanos>(took));
  }
}

std::vector<std::string> Planned::news() {
  auto out = std::exchange(news_, {});
  for (auto& line : follower_.news()) out.push_back(std::move(line));
  return out;
}

PlanReport Planned::report() const {
  PlanReport out;
  out.trace = basis_->path;
  out.in_force = follower_.in_force();
  out.why = follower_.describe();
  if (maker_) {
    out.why = has_plan() ? out.why + "; a better plan is being looked for"
                         : "the plan is being made";
  }
  if (!maker_ && !trouble_.empty()) out.why = "no plan: " + trouble_;
  out.counts = follower_.counts();
  return out;
}

std::string Planned::explain(Address address, const Machine& machine) const {
  if (!in_force()) return report().why;
  const auto wanted = follower_.wanted_at(address);
  if (!wanted) return "the plan is in force, and knows no tensor here";
  return "the plan is in force, and wants the tensor at " +
         std::to_string(address) + " in " + machine.tiers[*wanted].name;
}

}  // namespace thermocline
