#include "policies/heat_log.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"
#include "policies/tier_use.h"

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
  movable_.resize(count, 1);
  touched_.resize(count + 1);
  resized_.resize(count + 1);
  note(view);
}

// One pass, for the view of a large job is more than a processor caches; what
// it adds up stays in registers.
void HeatLog::note(const View& view) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double per_unit = 1 / unit_;  // exact: a power of two
  double most = most_;
  double least = period_ > 0 ? period_ : kNone;
  double accesses = 0;
  Touched* touched = touched_.data();
  ObjectId* resized = resized_.data();
  // By pointer: a byte that is written might be part of a vector, as far as the
  // compiler knows.
  Bytes* const bytes = bytes_.data();
  double* const per_byte = per_byte_.data();
  TierId* const tier = tier_.data();
  std::uint8_t* const movable = movable_.data();
  double* const all_loads = loads_.data();
  double* const all_stores = stores_.data();
  // One more, for objects in tiers that do not exist.
  const std::size_t tiers = view.tiers.size();
  TierSums sums(tiers + 1);
  for (const ObjectView& now : view.objects) {
    const ObjectId i = now.id;
    if (bytes[i] != now.bytes) {
      bytes[i] = now.bytes;
      per_byte[i] = now.bytes > 0 ? 1 / static_cast<double>(now.bytes) : 0;
      *resized++ = i;
    }
    tier[i] = now.tier;
    sums.add(i, static_cast<TierId>(std::min<std::size_t>(now.tier, tiers)),
             now.bytes);
    movable[i] = now.movable ? 1 : 0;
    if (!(now.loads > 0 || now.stores > 0)) continue;
    *touched++ = {i, now.loads, now.stores};
    accesses += now.loads + now.stores;
    const double loads = all_loads[i] += now.loads * per_unit;
    const double stores = all_stores[i] += now.stores * per_unit;
    most = std::max(most, std::max(loads, stores));
    least = std::min(least, std::min(now.loads > 0 ? now.loads : kNone,
                                     now.stores > 0 ? now.stores : kNone));
  }
  resized_end_ = static_cast<std::size_t>(resized - resized_.data());
  used_.resize(tiers);
  for (std::size_t t = 0; t < tiers; ++t) {
    used_[t] = std::max(sums.of(t), view.tiers[t].used);
  }
  touched_end_ = static_cast<std::size_t>(touched - touched_.data());
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
  out.resize(size());
  least_loads /= unit_;
  least_stores /= unit_;
  for (std::size_t i = 0; i < size(); ++i) {
    const double loads = loads_[i];
    const double stores = stores_[i];
    // No branch: which of the objects are hot cannot be guessed.
    const bool hot = ((loads > 0) & (loads >= least_loads)) |
                     ((stores > 0) & (stores >= least_stores));
    const double heat = (loads * load_ns_ + stores * store_ns_) * unit_;
    out[i] = hot ? heat * per_byte_[i] : 0;
  }
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
