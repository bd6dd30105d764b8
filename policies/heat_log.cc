#include "policies/heat_log.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"

namespace thermocline {
namespace {

AccessCost cost_of(const TierView& tier) {
  Tier as_tier;
  as_tier.read_ns = tier.read_ns;
  as_tier.write_ns = tier.write_ns;
  as_tier.read_bytes_per_s = tier.read_bytes_per_s;
  as_tier.write_bytes_per_s = tier.write_bytes_per_s;
  return access_cost(as_tier);
}

// What a machine that says nothing is taken to lose per access: 100 ns, the
// order of DRAM against CXL or Optane.
constexpr double kAssumedLossNs = 100;

double loss(double slow, double fast) {
  return slow > fast ? slow - fast : kAssumedLossNs;
}

std::string whole(double count) { return std::to_string(std::llround(count)); }

}  // namespace

void HeatLog::see(const View& view) {
  if (!view.tiers.empty()) {
    const AccessCost fast = cost_of(view.tiers.front());
    const AccessCost slow = cost_of(view.tiers.back());
    load_ns_ = loss(slow.load_ns, fast.load_ns);
    store_ns_ = loss(slow.store_ns, fast.store_ns);
  }
  tiers_ = view.tiers.size();
  objects_.resize(std::max(objects_.size(), view.objects.size()));
  for (std::size_t i = 0; i < view.objects.size(); ++i) {
    const ObjectView& now = view.objects[i];
    Object& object = objects_[i];
    object.last_loads = now.loads;
    object.last_stores = now.stores;
    object.loads += now.loads;
    object.stores += now.stores;
    object.bytes = now.bytes;
    object.tier = now.tier;
    object.movable = now.movable;
    for (const double count : {now.loads, now.stores}) {
      if (count > 0 && (period_ <= 0 || count < period_)) period_ = count;
    }
  }
}

void HeatLog::cool(double above) {
  double most = 0;
  for (const Object& object : objects_) {
    most = std::max(most, object.loads + object.stores);
  }
  if (most <= above) return;
  for (Object& object : objects_) {
    object.loads /= 2;
    object.stores /= 2;
  }
}

double HeatLog::heat(ObjectId object) const {
  if (object >= objects_.size()) return 0;
  const Object& one = objects_[object];
  return one.loads * load_ns_ + one.stores * store_ns_;
}

double HeatLog::density(ObjectId object) const {
  if (object >= objects_.size() || objects_[object].bytes == 0) return 0;
  return heat(object) / static_cast<double>(objects_[object].bytes);
}

std::string HeatLog::describe(ObjectId object) const {
  if (object >= objects_.size()) return "not seen yet";
  const Object& one = objects_[object];
  if (one.bytes == 0) return "has no resident bytes";
  std::size_t rank = 1;
  std::size_t of = 0;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const auto other = static_cast<ObjectId>(i);
    if (objects_[i].bytes == 0) continue;
    ++of;
    if (heat(other) > heat(object)) ++rank;
  }
  std::string where =
      "in tier " + std::to_string(one.tier) + " of " + std::to_string(tiers_);
  if (one.tier == 0) where += " (fastest)";
  if (one.tier + std::size_t{1} == tiers_ && tiers_ > 1) where += " (slowest)";
  if (!one.movable) where += ", not movable";
  return where + ": " + whole(one.last_loads) + " loads and " +
         whole(one.last_stores) + " stores in the last window, rank " +
         std::to_string(rank) + " of " + std::to_string(of) + " by heat";
}

}  // namespace thermocline
