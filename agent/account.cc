#include "agent/account.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

constexpr double kKept = 0.99;     // of what is known of the model, by window
constexpr double kMostWrong = 16;  // the model, either way

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

double Account::correction(const View& view, double foreseen, double all,
                           double stalled) {
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  if (!(foreseen >= 0)) return 1 / (1 + stalled / window);
  if (all > 0) {
    foreseen_ns_ = kKept * foreseen_ns_ + foreseen * window;
    modelled_ns_ = kKept * modelled_ns_ + all;
  }
  if (modelled_ns_ <= 0) return 1;
  return std::clamp(foreseen_ns_ / modelled_ns_, 1 / kMostWrong, kMostWrong);
}

void Account::price_moves(const View& view, const FeatureTracker& seen) {
  double footprint = 0;
  double elsewhere = 0;
  for (const ObjectView& one : view.objects) {
    if (one.bytes == 0) continue;
    const auto bytes = static_cast<double>(one.bytes);
    footprint += bytes;
    if ((untouched_[one.id] == 0) != (one.tier == 0)) elsewhere += bytes;
  }
  const double windows =
      std::expm1(std::max(seen.shared(kMoveCost), seen.shared(kDemoteCost)));
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  move_ns_byte_ = windows * window / std::max(footprint, 1.0);
  back_ns_ = elsewhere * move_ns_byte_;
}

Bytes Account::allow(const View& view, const FeatureTracker& seen,
                     double foreseen) {
  // What died in this window was accessed before: where it would have lain then
  // is known from the window before.
  const std::vector<TierId> before = untouched_;
  follow_untouched(view);
  price_moves(view, seen);
  const AccessCost near = access_cost(tier_of(view.tiers.front()));
  const AccessCost far = access_cost(tier_of(view.tiers.back()));
  const double load_ns = std::max(0.0, far.load_ns - near.load_ns);
  const double store_ns = std::max(0.0, far.store_ns - near.store_ns);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  double avoided = 0;
  double lost = 0;
  double all = 0;
  for (const ObjectView& one : view.objects) {
    const double modelled = std::max(0.0, one.loads) * load_ns +
                            std::max(0.0, one.stores) * store_ns;
    all += modelled;
    TierId untouched = untouched_[one.id];
    if (one.bytes == 0) {
      untouched = one.id < before.size() ? before[one.id] : kNoTier;
      if (modelled <= 0 || untouched == kNoTier) continue;
    }
    const bool was = untouched != 0;
    const bool is = one.tier != 0;
    avoided += modelled * (static_cast<double>(was) - static_cast<double>(is));
    lost += modelled * static_cast<double>(is);
  }
  const double stalled =
      std::max(seen.stall() * window, lost + std::max(0.0, avoided));
  const double earned = avoided * correction(view, foreseen, all, stalled);
  ++windows_;
  elapsed_ns_ += window;
  balance_ns_ += earned;
  regret_ns_ = std::max(0.0, regret_ns_ - earned);
  const double mean_ns = elapsed_ns_ / static_cast<double>(windows_);
  may_ns_ =
      balance_ns_ + options_.stake * mean_ns + options_.drift * elapsed_ns_;
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
