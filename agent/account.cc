#include "agent/account.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

constexpr double kNew = 1.0 / 8;  // weight of a window

}  // namespace

void Account::follow_untouched(const View& view) {
  untouched_.resize(view.objects.size(), kNoTier);
  Bytes used = 0;
  for (const ObjectView& one : view.objects) {
    TierId& tier = untouched_[one.id];
    if (one.bytes == 0) tier = kNoTier;
    if (tier == 0) used += one.bytes;
  }
  const TierView& fast = view.tiers.front();
  for (const ObjectView& one : view.objects) {
    TierId& tier = untouched_[one.id];
    if (one.bytes == 0 || tier != kNoTier) continue;
    // Born in slow memory although there was room: bound to it, or moved in
    // this very window.
    const bool had_room = fast.used + one.bytes <= fast.capacity;
    const bool fits = used + one.bytes <= fast.capacity;
    tier = one.tier;
    if (tier == 0 && !fits) tier = static_cast<TierId>(view.tiers.size() - 1);
    if (tier != 0 && fits && !had_room) tier = 0;
    if (tier == 0) used += one.bytes;
  }
}

Bytes Account::allow(const View& view, const FeatureTracker& seen) {
  // What died in this window was accessed before: where it would have lain then
  // is known from the window before.
  const std::vector<TierId> before = untouched_;
  follow_untouched(view);
  const AccessCost near = access_cost(tier_of(view.tiers.front()));
  const AccessCost far = access_cost(tier_of(view.tiers.back()));
  const double load_ns = std::max(0.0, far.load_ns - near.load_ns);
  const double store_ns = std::max(0.0, far.store_ns - near.store_ns);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  double avoided = 0;
  double lost = 0;
  double footprint = 0;
  for (const ObjectView& one : view.objects) {
    const double modelled = std::max(0.0, one.loads) * load_ns +
                            std::max(0.0, one.stores) * store_ns;
    TierId untouched = untouched_[one.id];
    if (one.bytes == 0) {
      untouched = one.id < before.size() ? before[one.id] : kNoTier;
      if (modelled <= 0 || untouched == kNoTier) continue;
    }
    const bool was = untouched != 0;
    const bool is = one.tier != 0;
    avoided += modelled * (static_cast<double>(was) - static_cast<double>(is));
    lost += modelled * static_cast<double>(is);
    footprint += static_cast<double>(one.bytes);
  }
  ++windows_;
  elapsed_ns_ += window;
  const double overrated =
      1 + std::max(seen.stall(), (lost + std::max(0.0, avoided)) / window);
  balance_ns_ += avoided / overrated;
  lately_ns_ += kNew * (avoided / overrated - lately_ns_);
  // Of the footprint, there or back, in windows.
  const double moves =
      std::expm1(std::max(seen.shared(kMoveCost), seen.shared(kDemoteCost)));
  move_ns_byte_ = moves * window / std::max(footprint, 1.0);
  mean_ns_ = elapsed_ns_ / static_cast<double>(windows_);
  may_ns_ =
      balance_ns_ + options_.stake * mean_ns_ + options_.drift * elapsed_ns_;
  if (may_ns_ <= 0) return 0;
  constexpr double kAll = 1e18;
  return static_cast<Bytes>(
      std::min(may_ns_ / std::max(move_ns_byte_, 1e-9), kAll));
}

void Account::as_untouched(std::vector<double>& score) const {
  score.clear();
  for (const TierId tier : untouched_) score.push_back(tier == 0 ? 1 : -1);
}

void Account::spend(const View& view, std::span<const Move> moves) {
  for (const Move& move : moves) {
    balance_ns_ -=
        move_ns_byte_ * static_cast<double>(view.objects[move.object].bytes);
  }
}

}  // namespace thermocline
