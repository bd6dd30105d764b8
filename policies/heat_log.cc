#include "policies/heat_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"
#include "traces/faded.h"
#include "traces/wide.h"

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

// Where an object lies and whether it may move, as the view has it.
std::uint16_t place_of(const ObjectView& now) {
  return static_cast<std::uint16_t>(now.tier | (now.movable ? 256 : 0));
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
  place_.resize(count, kNoTier);
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
    // A view seldom has fewer objects than before.
    change(i, 0, tier_[i], 0);
  }
  seen_ = view.objects.size();
  Touched* const touched = touched_.data();
  std::size_t end = 0;
  const Bytes* const bytes = bytes_.data();
  const std::uint16_t* const place = place_.data();
  const std::size_t count = view.objects.size();
  for (std::size_t k = 0; k < count; ++k) {
    const ObjectView& now = view.objects[k];
    const auto i = static_cast<ObjectId>(k);
    const std::uint16_t there = place_of(now);
    if ((bytes[k] != now.bytes) | (place[k] != there)) {
      place_[k] = there;
      const bool can = now.movable && now.bytes > 0;
      change(i, now.bytes, now.tier, can ? 1 : 0);
    }
    touched[end] = {i, now.loads, now.stores};
    end += static_cast<std::size_t>(std::max(now.loads, now.stores) > 0);
  }
  touched_end_ = end;
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
  double* const all_loads = loads_.data();
  double* const all_stores = stores_.data();
  struct Lane {
    double most = 0;
    double least = kNone;
    double accesses = 0;
  };
  const auto add = [&](const Touched& now, Lane& lane) {
    lane.accesses += now.loads + now.stores;
    const double loads = all_loads[now.object] += now.loads * per_unit;
    const double stores = all_stores[now.object] += now.stores * per_unit;
    lane.most = std::max(lane.most, std::max(loads, stores));
    const double least = std::min(now.loads > 0 ? now.loads : kNone,
                                  now.stores > 0 ? now.stores : kNone);
    lane.least = std::min(lane.least, least);
  };
  // Two by turns: each would wait for the sums of the one before.
  Lane even;
  Lane odd;
  const auto all = touched();
  std::size_t i = 0;
  for (; i + 2 <= all.size(); i += 2) {
    add(all[i], even);
    add(all[i + 1], odd);
  }
  if (i < all.size()) add(all[i], even);
  window_accesses_ = even.accesses + odd.accesses;
  most_ = std::max({most_, even.most, odd.most});
  const double least =
      std::min({even.least, odd.least, period_ > 0 ? period_ : kNone});
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
    for (double& count : *counts) count = faded(count * unit_);
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
