#include "daemon/managed.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "policies/wholes.h"
#include "traces/from_cache.h"

namespace thermocline {

Managed::Managed(Kernel& kernel, const Machine& machine, std::uint64_t serial,
                 Target target, std::unique_ptr<Policy> policy,
                 Guards::Options guards)
    : kernel_(&kernel),
      machine_(&machine),
      serial_(serial),
      target_(std::move(target)),
      policy_(std::move(policy)),
      guards_(guards),
      slowdown_(guards.slowdown),
      thrash_(guards.thrash),
      blacklist_(guards.blacklist, kernel.page_bytes()),
      thrash_span_(guards.thrash.span) {}

void Managed::set_policy(std::unique_ptr<Policy> policy) {
  policy_ = std::move(policy);
  policy_watch_ = {};
}

void Managed::grow_counts() {
  for (auto* counts : {&loads_, &stores_, &waited_}) {
    counts->resize(target_.size());
  }
}

bool Managed::count(const Sample& sample) {
  const auto id = target_.find(sample.address);
  if (!id) return false;
  if (from_cache(sample)) return true;
  if (loads_.size() <= *id) grow_counts();
  waited_[*id] += static_cast<double>(sample.period) *
                  static_cast<double>(sample.retire_latency);
  auto& counts = sample.access == Access::kStore ? stores_ : loads_;
  counts[*id] += sample.period;
  fast_accesses_ += sample.period * fast_share_of(sample.source, *id);
  sampled_ += sample.period;
  ++samples_;
  return true;
}

// A region may be half fast, and which half is hot shows only where the
// hardware says what answered: PMEM and CXL are named on their own, but another
// socket's memory may be of any tier, and so may local memory until a slow one
// was named.
double Managed::fast_share_of(Source source, ObjectId id) {
  if (source == Source::kPmem || source == Source::kCxl) {
    slow_is_named_ = true;
    return 0;
  }
  if (source == Source::kDram && slow_is_named_) return 1;
  const Bytes bytes = target_.bytes(id);
  return bytes > 0 ? static_cast<double>(target_.bytes(id, 0)) /
                         static_cast<double>(bytes)
                   : 0;
}

// Samples are told by accesses: a sample stands for as many as one does in the
// mean. What a region had, its parts have by their sizes, until they are
// sampled themselves.
void Managed::adapt() {
  if (!target_.adapts() || samples_ == 0 || in_flight()) return;
  const double sample = sampled_ / static_cast<double>(samples_);
  std::vector<double> samples(target_.size());
  grow_counts();
  for (std::size_t id = 0; id < samples.size(); ++id) {
    samples[id] = (loads_[id] + stores_[id]) / sample;
  }
  const auto wholes = target_.adapt(samples);
  grow_counts();
  find_neighbours();
  for (const auto& parts : wholes) {
    for (auto* counts : {&loads_, &stores_, &waited_}) {
      double sum = 0;
      double bytes = 0;
      for (const ObjectId id : parts) {
        sum += (*counts)[id];
        bytes += static_cast<double>(target_.region(id).bytes());
      }
      for (const ObjectId id : parts) {
        const auto own = static_cast<double>(target_.region(id).bytes());
        (*counts)[id] = sum * own / bytes;
      }
    }
    for (const ObjectId id : parts) meet_neighbours(id);
  }
}

// The numbers of regions stay, so that only new ones need be looked for, and
// those of which adapt() made others. One may widen or shrink: whether the two
// still meet is asked each time.
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

void Managed::meet_neighbours(ObjectId id) {
  after_[id] = kNoObject;
  const Region& region = target_.region(id);
  if (region.bytes() == 0) return;
  if (const auto next = target_.find(region.end)) after_[id] = *next;
  if (region.start == 0) return;
  if (const auto before = target_.find(region.start - 1)) after_[*before] = id;
}

void Managed::look(const Capacities& capacities) {
  grow_counts();
  objects_.resize(target_.size());
  find_neighbours();
  totals_.accesses = 0;
  totals_.fast_accesses = fast_accesses_;
  for (ObjectId id = 0; id < objects_.size(); ++id) {
    const Bytes bytes = target_.bytes(id);
    const auto told = expected_.now(id);
    const double loads = std::max(loads_[id], told.loads);
    const double stores = std::max(stores_[id], told.stores);
    // Accessed and yet nothing there: what we know of it is old.
    if (loads + stores > 0 && bytes == 0) target_.want(id);
    objects_[id] = {id,
                    after(id),
                    bytes,
                    loads,
                    stores,
                    target_.tier(id),
                    !target_.bound(id) && !guards_.resting(id, window_),
                    waited_[id]};
    totals_.accesses += loads_[id] + stores_[id];
  }
  huge_.find(target_);
  parts_.clear();
  if (!huge_.leaders().empty()) {
    parts_ = objects_;
    join_parts(objects_, huge_.leaders());
  }
  working_set_ = 0;
  for (const auto& object : objects_) {
    if (object.loads + object.stores > 0) working_set_ += object.bytes;
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

Refusal Managed::held() const {
  if (pressure_ != Refusal::kNone) return pressure_;
  if (slowdown_.holding()) return Refusal::kSlowdown;
  if (thrash_.holding()) return Refusal::kThrashing;
  return Refusal::kNone;
}

// What the window that is over says to the guards.
void Managed::judge_window(Nanos window_ns) {
  const double seconds = 1e-9 * static_cast<double>(window_ns);
  if (seconds <= 0) return;  // the clock stood still: nothing can be said
  const bool moved = landed_.bytes > 0 || landed_.planned;
  slowdown_.end_window({static_cast<double>(operators_) / seconds,
                        totals_.accesses / seconds, moved});
  const double share =
      totals_.accesses > 0 ? totals_.fast_accesses / totals_.accesses : 0;
  thrash_.end_window({working_set_, tiers_[0].capacity, landed_.bytes,
                      landed_.returned, share});
  const double sample =
      samples_ > 0 ? sampled_ / static_cast<double>(samples_) : 0;
  guards_.payback().end_window(objects_, window_ns, sample);
  blacklist_.end_window(window_);
  operators_ = 0;
}

MoveTotals Managed::decide(const Capacities& capacities, BudgetShare budget,
                           MoveThread& moves, Nanos window_ns, Brake brake) {
  adapt();
  look(capacities);
  judge_window(window_ns);
  pressure_ = brake.refusal;
  MoveTotals totals;
  // On the emulated machine a call takes the emulator's time, tens of times
  // what its memory would: no measure beside heat.
  const double ns_per_byte = landed_.bytes > 0 && !machine_->emulated
                                 ? static_cast<double>(landed_.took) /
                                       static_cast<double>(landed_.bytes)
                                 : 0;
  landed_ = {};
  if (!brake.paused) {
    const auto refused_before = guards_.refused();
    const bool planned = plan_ && plan_->in_force();
    const bool ready = !planned && !in_flight();
    const Bytes may = budget.available(kernel_->now());
    std::vector<TierView> tiers = tiers_;
    View view{window_, window_ns,   ready ? may : 0, objects_,
              tiers,   ns_per_byte, parts_,          huge_.leaders()};
    auto wanted = policy_->decide(view);
    view.budget = may;
    if (planned) wanted = make_room_for_plan(tiers.front());
    const auto admitted = guards_.admit(
        view, wanted,
        [this](ObjectId id, TierId to) { return bytes_to_move(id, to); },
        in_flight() ? Refusal::kInFlight : held());
    totals.decided = wanted.size();
    totals.admitted = admitted.size();
    for (const auto& move : admitted) {
      totals.admitted_bytes += bytes_to_move(move.object, move.to);
    }
    for (std::size_t i = 0; i < kRefusals; ++i) {
      totals.refused[i] = guards_.refused()[i] - refused_before[i];
    }
    auto ordered = orders(admitted);
    if (!ordered.empty()) {
      send(std::move(ordered), totals, false, budget, moves);
    }
  }
  totals_.moves.add(totals);
  close_window();
  return totals;
}

void Managed::send(std::vector<MoveOrder> orders, const MoveTotals& totals,
                   bool planned, BudgetShare budget, MoveThread& moves) {
  Flight flight{window_, totals.admitted_bytes, planned, {}};
  flight.to.assign(machine_->tiers.size(), 0);
  for (const auto& order : orders) {
    flight.to[order.to] += order.pages.size() * kernel_->page_bytes();
  }
  budget.take(flight.bytes);
  flight_ = std::move(flight);
  moves.submit({serial_, target_.memory_id(), std::move(orders)});
}

Bytes Managed::arriving(TierId tier) const {
  return flight_ ? flight_->to[tier] : 0;
}

MoveTotals Managed::landed(const MoveThread::Done& done, BudgetShare budget) {
  CHECK(flight_ && done.batch.owner == serial_);
  const Flight flight = *std::exchange(flight_, std::nullopt);
  const auto totals = totals_of(done, kernel_->page_bytes());
  const Bytes used = totals.moved_bytes() + totals.dragged;
  if (used < flight.bytes) budget.give_back(flight.bytes - used);
  if (used > flight.bytes) budget.take(used - flight.bytes);
  if (!flight.planned) {
    landed_.bytes += used;
    landed_.took += done.took_ns;
    if (!machine_->emulated) guards_.payback().landed(used, done.took_ns);
    remember(done.outcomes, flight.window);
  } else if (plan_) {
    landed_.planned = true;
    plan_->landed(done, target_, kernel_->now());
  }
  totals_.moves.add(totals);
  return totals;
}

std::string Managed::explain(ObjectId id) const {
  const std::string online = policy_->explain(leader(id));
  if (!plan_) return online;
  const auto plan = plan_->explain(target_.region(id).start, *machine_);
  return plan_->in_force() ? plan : online + " (" + plan + ")";
}

Bytes Managed::bytes_to_move(ObjectId leader, TierId to) const {
  Bytes sum = 0;
  huge_.each(leader, [&](ObjectId id) {
    sum += target_.bytes(id) - target_.bytes(id, to);
  });
  return sum;
}

// An order for each region; the mover sees that some lie in one huge page.
std::vector<MoveOrder> Managed::orders(const std::vector<Move>& moves) {
  std::vector<MoveOrder> out;
  for (const auto& move : moves) {
    const std::size_t before = out.size();
    huge_.each(move.object, [&](ObjectId id) {
      auto pages = target_.pages(id);
      blacklist_.leave_out(pages, window_);
      if (!pages.empty()) {
        const bool seen = target_.lies_whole_in(id, move.from);
        out.push_back({id, move.from, move.to, std::move(pages), seen});
      }
    });
    if (out.size() == before) guards_.failed(move.object, window_);
  }
  return out;
}

void Managed::remember(std::span<const MoveOutcome> outcomes,
                       std::int64_t window) {
  struct Sum {
    Move move;
    std::uint64_t moved = 0;
    std::uint64_t failures = 0;
  };
  std::map<ObjectId, Sum> sums;  // of what moves as one
  for (const auto& outcome : outcomes) {
    const ObjectId object = leader(outcome.object);
    auto& sum = sums[object];
    sum.move = {object, outcome.from, outcome.to};
    sum.moved += outcome.moved;
    sum.failures += outcome.failures();
    for (const auto& [reason, pages] : outcome.stuck) {
      blacklist_.failed(pages, reason, window);
    }
    target_.note(outcome);
  }
  for (const auto& [object, sum] : sums) {
    if (sum.moved > 0) {
      const Bytes bytes = sum.moved * kernel_->page_bytes();
      if (guards_.returns(sum.move, window, thrash_span_)) {
        landed_.returned += bytes;
      }
      guards_.moved(sum.move, window,
                    guards_.payback().stay_paid(sum.move, bytes, tiers_));
    }
    if (sum.failures > sum.moved) guards_.failed(object, window);
  }
}

void Managed::close_window() {
  ++window_;
  expected_.end_window();
  std::swap(loads_, last_loads_);
  std::swap(stores_, last_stores_);
  loads_.assign(target_.size(), 0);
  stores_.assign(target_.size(), 0);
  waited_.assign(target_.size(), 0);
  fast_accesses_ = 0;
  remember_accesses();
}

double Managed::heat(ObjectId id) const {
  const ObjectId object = leader(id);
  const double heat = policy_->heat(object);
  if (!std::isfinite(heat)) return 0;
  Bytes all = 0;
  huge_.each(object, [&](ObjectId part) { all += target_.bytes(part); });
  const bool alone = all == 0 || all == target_.bytes(id);
  return alone ? heat
               : heat * static_cast<double>(target_.bytes(id)) /
                     static_cast<double>(all);
}

TargetReport Managed::report() const {
  TargetReport out = totals_;
  out.pid = target_.pid();
  out.name = target_.name();
  out.windows = window_;
  out.unmanaged = target_.unmanaged();
  out.share = share_;
  out.held = held();
  out.blacklisted = blacklist_.ranges();
  out.policy_counts = policy_->counts();
  if (plan_) out.plan = plan_->report();
  for (TierId t = 0; t < machine_->tiers.size(); ++t) {
    out.bytes_by_tier.push_back(target_.footprint(t));
    out.capacity_by_tier.push_back(t < tiers_.size() ? tiers_[t].capacity : 0);
  }
  return out;
}

}  // namespace thermocline
