#include "agent/account.h"

#include <algorithm>
#include <cmath>

#include "agent/features.h"
#include "estimator/access_cost.h"

namespace thermocline {
namespace {

constexpr double kMemory = 0.08;  // as FeatureTracker's long one

AccessCost cost_of(const TierView& tier) {
  return access_cost(Tier{"",
                          {},
                          tier.capacity,
                          tier.read_ns,
                          tier.write_ns,
                          tier.read_bytes_per_s,
                          tier.write_bytes_per_s,
                          false});
}

}  // namespace

Bytes Account::allow(const View& view, std::span<const float> rows) {
  born_in_.resize(view.objects.size(), kNoTier);
  const AccessCost near = cost_of(view.tiers.front());
  const AccessCost far = cost_of(view.tiers.back());
  const double load_ns = std::max(0.0, far.load_ns - near.load_ns);
  const double store_ns = std::max(0.0, far.store_ns - near.store_ns);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  double avoided = 0;
  double lost = 0;
  double footprint = 0;
  double moves = 0;  // of the footprint, there or back, in windows
  for (const ObjectView& one : view.objects) {
    if (one.bytes == 0) {
      born_in_[one.id] = kNoTier;
      continue;
    }
    if (born_in_[one.id] == kNoTier) born_in_[one.id] = one.tier;
    const double modelled = std::max(0.0, one.loads) * load_ns +
                            std::max(0.0, one.stores) * store_ns;
    const bool was = born_in_[one.id] != 0;
    const bool is = one.tier != 0;
    avoided += modelled * (static_cast<double>(was) - static_cast<double>(is));
    lost += modelled * static_cast<double>(is);
    footprint += static_cast<double>(one.bytes);
    const auto row = rows.subspan(one.id * kFeatures, kFeatures);
    moves = std::max({moves, std::expm1(static_cast<double>(row[kMoveCost])),
                      std::expm1(static_cast<double>(row[kDemoteCost]))});
  }
  ++windows_;
  elapsed_ns_ += window;
  stall_ += std::max(kMemory, 1.0 / static_cast<double>(windows_)) *
            (lost / window - stall_);
  const double overrated =
      1 + std::max(stall_, (lost + std::max(0.0, avoided)) / window);
  balance_ns_ += avoided / overrated;
  move_ns_byte_ = moves * window / std::max(footprint, 1.0);
  const double mean_ns = elapsed_ns_ / static_cast<double>(windows_);
  const double may =
      balance_ns_ + options_.stake * mean_ns + options_.drift * elapsed_ns_;
  if (may <= 0) return 0;
  constexpr double kAll = 1e18;
  return static_cast<Bytes>(
      std::min(may / std::max(move_ns_byte_, 1e-9), kAll));
}

void Account::spend(const View& view, std::span<const Move> moves) {
  for (const Move& move : moves) {
    balance_ns_ -=
        move_ns_byte_ * static_cast<double>(view.objects[move.object].bytes);
  }
}

}  // namespace thermocline
