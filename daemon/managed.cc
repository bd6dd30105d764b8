#include "daemon/managed.h"

#include <cmath>

#include "daemon/page_moves.h"

namespace thermocline {

Managed::Managed(Kernel& kernel, const Machine& machine, Target target,
                 std::unique_ptr<Policy> policy, Guards::Options guards)
    : kernel_(&kernel),
      machine_(&machine),
      target_(std::move(target)),
      policy_(std::move(policy)),
      guards_(guards) {}

void Managed::set_policy(std::unique_ptr<Policy> policy) {
  policy_ = std::move(policy);
}

bool Managed::count(const Sample& sample) {
  const auto id = target_.find(sample.address);
  if (!id) return false;
  if (loads_.size() <= *id) {
    loads_.resize(target_.size());
    stores_.resize(target_.size());
  }
  auto& counts = sample.access == Access::kStore ? stores_ : loads_;
  counts[*id] += sample.period;
  return true;
}

// Regions are never renumbered, so that only new ones need be looked for. One
// may widen or shrink: whether the two still meet is asked each time.
ObjectId Managed::after(ObjectId id) const {
  const ObjectId next = after_[id];
  if (next == kNoObject) return next;
  const bool meet = target_.region(next).start == target_.region(id).end;
  return meet ? next : kNoObject;
}

void Managed::find_neighbours() {
  for (auto id = static_cast<ObjectId>(after_.size()); id < target_.size();
       ++id) {
    after_.push_back(kNoObject);
    const Region& region = target_.region(id);
    const auto before =
        region.start > 0 ? target_.find(region.start - 1) : std::nullopt;
    const auto next = target_.find(region.end);
    if (next && *next != id) after_[id] = *next;
    if (before && *before < id) after_[*before] = id;
  }
}

void Managed::look(const Capacities& capacities) {
  loads_.resize(target_.size());
  stores_.resize(target_.size());
  objects_.resize(target_.size());
  find_neighbours();
  totals_.accesses = 0;
  totals_.fast_accesses = 0;
  for (ObjectId id = 0; id < objects_.size(); ++id) {
    const Bytes bytes = target_.bytes(id);
    const double accesses = loads_[id] + stores_[id];
    // Accessed and yet nothing there: what we know of it is old.
    if (accesses > 0 && bytes == 0) target_.want(id);
    objects_[id] = {id,
                    bytes,
                    target_.tier(id),
                    loads_[id],
                    stores_[id],
                    !target_.bound(id) && !guards_.resting(id, window_),
                    after(id)};
    totals_.accesses += accesses;
    if (bytes > 0) {
      totals_.fast_accesses += accesses *
                               static_cast<double>(target_.bytes(id, 0)) /
                               static_cast<double>(bytes);
    }
  }
  totals_.total_accesses += totals_.accesses;
  totals_.total_fast_accesses += totals_.fast_accesses;
  tiers_.clear();
  for (TierId t = 0; t < machine_->tiers.size(); ++t) {
    const auto& tier = machine_->tiers[t];
    tiers_.push_back({capacities[t], target_.footprint(t), tier.read_ns,
                      tier.write_ns, tier.read_bytes_per_s,
                      tier.write_bytes_per_s});
  }
}

MoveTotals Managed::decide(const Capacities& capacities, TokenBucket& bucket,
                           Mover& mover, Nanos window_ns, bool hold) {
  look(capacities);
  MoveTotals totals;
  if (!hold) {
    const auto refused_before = guards_.refused();
    const View view{window_,  window_ns, bucket.available(kernel_->now()),
                    objects_, tiers_,    move_ns_per_byte_};
    auto wanted = policy_->decide(view);
    if (plan_ && plan_->in_force()) wanted.clear();
    const auto bytes_to_move = [&](ObjectId id, TierId to) {
      return target_.bytes(id) - target_.bytes(id, to);
    };
    const auto admitted = guards_.admit(view, wanted, bytes_to_move);
    totals.decided = wanted.size();
    totals.admitted = admitted.size();
    for (const auto& move : admitted) {
      totals.admitted_bytes += bytes_to_move(move.object, move.to);
    }
    for (std::size_t i = 0; i < kRefusals; ++i) {
      totals.refused[i] = guards_.refused()[i] - refused_before[i];
    }
    if (!admitted.empty()) {
      const auto ordered = orders(admitted);
      totals.extents = extents_of(ordered, kernel_->page_bytes());
      const Nanos began = kernel_->now();
      const auto outcomes =
          mover.move(*kernel_, *machine_, target_.pid(), ordered);
      totals.calls_ns = static_cast<std::uint64_t>(kernel_->now() - began);
      for (const auto& outcome : outcomes) remember(outcome, totals);
      bucket.take(totals.moved_bytes() + totals.dragged);
    }
  }
  const auto moved = static_cast<double>(totals.moved_bytes() + totals.dragged);
  // On the emulated machine a call takes the emulator's time, tens of times
  // what its memory would: no measure beside heat.
  move_ns_per_byte_ = moved > 0 && !machine_->emulated
                          ? static_cast<double>(totals.calls_ns) / moved
                          : 0;
  totals_.moves.add(totals);
  close_window();
  return totals;
}

MoveTotals Managed::follow_plan(std::vector<Bytes>& room, TokenBucket& bucket,
                                Mover& mover) {
  auto totals = plan_->act(
      {*kernel_, *machine_, target_, guards_, mover, bucket, room, window_});
  totals_.moves.add(totals);
  return totals;
}

std::string Managed::explain(ObjectId id) const {
  if (!plan_) return policy_->explain(id);
  const auto plan = plan_->explain(target_.region(id).start, *machine_);
  return plan_->in_force() ? plan : policy_->explain(id) + " (" + plan + ")";
}

std::vector<MoveOrder> Managed::orders(const std::vector<Move>& moves) const {
  std::vector<MoveOrder> out;
  for (const auto& move : moves) {
    out.push_back(
        {move.object, move.from, move.to, target_.pages(move.object)});
  }
  return out;
}

void Managed::remember(const MoveOutcome& outcome, MoveTotals& totals) {
  const Bytes page = kernel_->page_bytes();
  if (outcome.moved > 0) {
    totals.moved[{outcome.from, outcome.to}] += outcome.moved * page;
    totals.dragged += outcome.dragged * page;
    guards_.moved({outcome.object, outcome.from, outcome.to}, window_);
  }
  for (const auto& [reason, pages] : outcome.failed) {
    totals.failed[reason] += pages;
  }
  if (outcome.failures() > outcome.moved) {
    guards_.failed(outcome.object, window_);
  }
  target_.note(outcome);
}

void Managed::close_window() {
  ++window_;
  std::swap(loads_, last_loads_);
  std::swap(stores_, last_stores_);
  loads_.assign(target_.size(), 0);
  stores_.assign(target_.size(), 0);
}

double Managed::heat(ObjectId id) const {
  const double heat = policy_->heat(id);
  return std::isfinite(heat) ? heat : 0;
}

double Managed::last_loads(ObjectId id) const {
  return id < last_loads_.size() ? last_loads_[id] : 0;
}

double Managed::last_stores(ObjectId id) const {
  return id < last_stores_.size() ? last_stores_[id] : 0;
}

TargetReport Managed::report() const {
  TargetReport out = totals_;
  out.pid = target_.pid();
  out.name = target_.name();
  out.windows = window_;
  out.unmanaged = target_.unmanaged();
  out.policy_counts = policy_->counts();
  if (plan_) out.plan = plan_->report();
  for (TierId t = 0; t < machine_->tiers.size(); ++t) {
    out.bytes_by_tier.push_back(target_.footprint(t));
  }
  return out;
}

}  // namespace thermocline
