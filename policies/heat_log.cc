#include "policies/heat_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"
#include "policies/wide.h"

namespace thermocline {
namespace {

// What a machine that says nothing is taken to lose per access: 100 ns, the
// order of DRAM against CXL or Optane.
constexpr double kAssumedLossNs = 100;

double loss(double slow, double fast) {
  return slow > fast ? slow - fast : kAssumedLossNs;
}

// Long before counts of a window, in units, could overflow.
constexpr double kSmallestUnit = 0x1p-200;

struct Weights {
  double least_loads = 0;
  double least_stores = 0;
  double load_ns = 0;
  double store_ns = 0;
  double unit = 0;
};
THERMOCLINE_WIDE
void weigh(std::size_t count, const double* loads, const double* stores,
           const double* per_byte, Weights by, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    // No branch: which of the objects are hot cannot be guessed.
    const std::uint64_t hot =
        (loads[i] >= by.least_loads) | (stores[i] >= by.least_stores);
    const double heat =
        (loads[i] * by.load_ns + stores[i] * by.store_ns) * by.unit;
    out[i] = std::bit_cast<double>(
        std::bit_cast<std::uint64_t>(heat * per_byte[i]) & -hot);
  }
}

std::string whole(double count) { return std::to_string(std::llround(count)); }

}  // namespace

void HeatLog::see(const View& view) {
  if (!view.tiers.empty()) {
    const AccessCost fast = access_cost(tier_of(view.tiers.front()));
    const AccessCost slow = access_cost(tier_of(view.tiers.back()));
    load_ns_ = loss(slow.load_ns, fast.load_ns);
    store_ns_ = loss(slow.store_ns, fast.store_ns);
  }
  tiers_ = view.tiers.size();
  const std::size_t count = std::max(size(), view.objects.size());
  loads_.resize(count);
  stores_.resize(count);
  bytes_.resize(count);
  per_byte_.resize(count);
  tier_.resize(count, kNoTier);
  movable_.resize(count);
  touched_.resize(count + 1);
  resized_.resize(count + 1);
  note(view);
}

// One pass, for the view of a large job is more than a processor caches. Where
// an object lies and how much of it changes seldom; what was accessed, which
// nobody can guess, is listed without a branch and added afterwards.
void HeatLog::note(const View& view) {
  resized_end_ = 0;
  for (auto i = static_cast<ObjectId>(view.objects.size()); i < seen_; ++i) {
    change(i, 0, tier_[i], 0);  // a view seldom has fewer objects than before
  }
  seen_ = view.objects.size();
  Touched* touched = touched_.data();
  const Bytes* const bytes = bytes_.data();
  const TierId* const tier = tier_.data();
  const std::uint8_t* const movable = movable_.data();
  for (const ObjectView& now : view.objects) {
    const ObjectId i = now.id;
    __builtin_prefetch(&now + 24);
    const std::uint8_t can = (now.movable & (now.bytes > 0)) ? 1 : 0;
    if ((bytes[i] != now.bytes) | (tier[i] != now.tier) | (movable[i] != can)) {
      change(i, now.bytes, now.tier, can);
    }
    *touched = {i, now.loads, now.stores};
    touched += ((now.loads > 0) | (now.stores > 0)) ? 1 : 0;
  }
  touched_end_ = static_cast<std::size_t>(touched - touched_.data());
  used_.resize(view.tiers.size());
  for (std::size_t t = 0; t < view.tiers.size(); ++t) {
    used_[t] = std::max(lying_[t], view.tiers[t].used);
  }
  add_touched();
}

void HeatLog::change(ObjectId i, Bytes bytes, TierId tier,
                     std::uint8_t movable) {
  lying_[tier_[i]] -= bytes_[i];
  lying_[tier] += bytes;
  tier_[i] = tier;
  movable_[i] = movable;
  if (bytes_[i] == bytes) return;
  bytes_[i] = bytes;
  per_byte_[i] = bytes > 0 ? 1 / static_cast<double>(bytes) : 0;
  resized_[resized_end_++] = i;
}

void HeatLog::add_touched() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double per_unit = 1 / unit_;  // exact: a power of two
  double most = most_;
  double least = period_ > 0 ? period_ : kNone;
  double accesses = 0;
  double* const all_loads = loads_.data();
  double* const all_stores = stores_.data();
  for (const Touched& now : touched()) {
    accesses += now.loads + now.stores;
    const double loads = all_loads[now.object] += now.loads * per_unit;
    const double stores = all_stores[now.object] += now.stores * per_unit;
    most = std::max(most, std::max(loads, stores));
    least = std::min(least, std::min(now.loads > 0 ? now.loads : kNone,
                                     now.stores > 0 ? now.stores : kNone));
  }
  window_accesses_ = accesses;
  most_ = most;
  period_ = least < kNone ? least : 0;
}

bool HeatLog::cool(double above) {
  if (most_ * unit_ <= above) return false;
  unit_ /= 2;
  if (unit_ < kSmallestUnit) rescale();
  return true;
}

void HeatLog::rescale() {
  for (auto* counts : {&loads_, &stores_}) {
    for (double& count : *counts) count *= unit_;
  }
  most_ *= unit_;
  unit_ = 1;
}

double HeatLog::heat(ObjectId object) const {
  if (object >= size()) return 0;
  return loads(object) * load_ns_ + stores(object) * store_ns_;
}

double HeatLog::density(ObjectId object) const {
  return object < size() ? heat(object) * per_byte_[object] : 0;
}

void HeatLog::densities(double least_loads, double least_stores,
                        std::vector<double>& out) const {
  constexpr double kAny = std::numeric_limits<double>::denorm_min();
  out.resize(size());
  weigh(size(), loads_.data(), stores_.data(), per_byte_.data(),
        {std::max(kAny, least_loads / unit_),
         std::max(kAny, least_stores / unit_), load_ns_, store_ns_, unit_},
        out.data());
}

void HeatLog::weighted(double load, double store, std::size_t first,
                       std::span<double> out) const {
  weigh(out.size(), &loads_[first], &stores_[first], &per_byte_[first],
        {0, 0, load, store, unit_}, out.data());
}

void HeatLog::accesses_per_byte(std::vector<double>& out) const {
  out.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    out[i] = (loads_[i] + stores_[i]) * unit_ * per_byte_[i];
  }
}

std::string HeatLog::describe(ObjectId object) const {
  if (object >= size()) return "not seen yet";
  if (bytes_[object] == 0) return "has no resident bytes";
  std::size_t rank = 1;
  std::size_t of = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (bytes_[i] == 0) continue;
    ++of;
    if (heat(static_cast<ObjectId>(i)) > heat(object)) ++rank;
  }
  const TierId tier = tier_[object];
  std::string where =
      "in tier " + std::to_string(tier) + " of " + std::to_string(tiers_);
  if (tier == 0) where += " (fastest)";
  if (tier + std::size_t{1} == tiers_ && tiers_ > 1) where += " (slowest)";
  if (movable_[object] == 0) where += ", not movable";
  const auto all = touched();
  const auto seen = std::lower_bound(
      all.begin(), all.end(), object,
      [](const Touched& one, ObjectId id) { return one.object < id; });
  const bool touched = seen != all.end() && seen->object == object;
  return where + ": " + whole(touched ? seen->loads : 0) + " loads and " +
         whole(touched ? seen->stores : 0) +
         " stores in the last window, rank " + std::to_string(rank) + " of " +
         std::to_string(of) + " by heat";
}

}  // namespace thermocline
