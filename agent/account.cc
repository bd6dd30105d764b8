#include "agent/account.h"

#include <algorithm>
#include <cmath>

#include "estimator/access_cost.h"
#include "estimator/tier_of.h"

namespace thermocline {
namespace {

constexpr double kKept = 0.99;     // of what is known of the model, by window
constexpr double kMostWrong = 16;  // the model, either way
// What is lost is not sunk before a stake is so small a part of the time.
constexpr double kStakes = 100;

}  // namespace

// Where it would lie in a job that nobody touched, which was born now.
TierId Account::born(const View& view, const ObjectView& one, Bytes& used) {
  // In slow memory although there was room: bound to it, or moved in this very
  // window.
  const TierView& fast = view.tiers.front();
  const bool had_room = fast.used + one.bytes <= fast.capacity;
  const bool fits = used + one.bytes <= fast.capacity;
  TierId tier = one.tier;
  if (tier == 0 && !fits) tier = static_cast<TierId>(view.tiers.size() - 1);
  if (tier != 0 && fits && !had_room) tier = 0;
  if (tier == 0) used += one.bytes;
  return tier;
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

void Account::price_moves(const View& view, const FeatureTracker& seen,
                          const Sums& sums) {
  const double windows =
      std::expm1(std::max(seen.shared(kMoveCost), seen.shared(kDemoteCost)));
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  move_ns_byte_ = windows * window / std::max(sums.footprint, 1.0);
  back_ns_ = sums.elsewhere * move_ns_byte_;
}

Account::Sums Account::see(const View& view) {
  untouched_.resize(view.objects.size(), kNoTier);
  born_.clear();
  const AccessCost near = access_cost(tier_of(view.tiers.front()));
  const AccessCost far = access_cost(tier_of(view.tiers.back()));
  const double load_ns = std::max(0.0, far.load_ns - near.load_ns);
  const double store_ns = std::max(0.0, far.store_ns - near.store_ns);
  Sums out;
  const auto add = [&](const ObjectView& one, TierId untouched) {
    const double modelled = std::max(0.0, one.loads) * load_ns +
                            std::max(0.0, one.stores) * store_ns;
    out.all += modelled;
    out.accesses += one.loads + one.stores;
    if (untouched == kNoTier) return;
    const bool is = one.tier != 0;
    const bool was = untouched != 0;
    const auto bytes = static_cast<double>(one.bytes);
    out.footprint += bytes;
    if (was != is) out.elsewhere += bytes;
    out.avoided +=
        modelled * (static_cast<double>(was) - static_cast<double>(is));
    out.lost += modelled * static_cast<double>(is);
  };
  Bytes used = 0;  // of fast memory, by those that were there before
  for (const ObjectView& one : view.objects) {
    TierId& untouched = untouched_[one.id];
    if (one.bytes > 0 && untouched == kNoTier) {
      born_.push_back(one.id);
      continue;
    }
    // What died in this window was accessed before, where it lay till then.
    add(one, untouched);
    if (one.bytes == 0) untouched = kNoTier;
    if (untouched == 0) used += one.bytes;
  }
  for (const ObjectId i : born_) {
    const ObjectView& one = view.objects[i];
    untouched_[i] = born(view, one, used);
    add(one, untouched_[i]);
  }
  return out;
}

void Account::forgive(double advance_ns) {
  if (balance_ns_ >= -advance_ns) return;
  if (try_again_ == 0) {
    try_again_ = std::max(2 * windows_,
                          static_cast<std::int64_t>(options_.stake * kStakes));
  }
  if (windows_ < try_again_) return;
  balance_ns_ = -advance_ns;
  try_again_ = 0;
}

Bytes Account::allow(const View& view, const FeatureTracker& seen,
                     double foreseen) {
  const Sums sums = see(view);
  price_moves(view, seen, sums);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  const double stalled =
      std::max(seen.stall() * window, sums.lost + std::max(0.0, sums.avoided));
  const double earned =
      sums.avoided * correction(view, foreseen, sums.all, stalled);
  if (sums.accesses > 0) {
    ++windows_;
    elapsed_ns_ += window;
  }
  balance_ns_ += earned;
  regret_ns_ = std::max(0.0, regret_ns_ - earned);
  const double mean_ns =
      elapsed_ns_ / static_cast<double>(std::max<std::int64_t>(1, windows_));
  const double advance_ns =
      options_.stake * mean_ns + options_.drift * elapsed_ns_;
  if (sums.elsewhere <= 0) settle();
  if (settled_) forgive(advance_ns);
  may_ns_ = balance_ns_ + advance_ns;
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
  if (!moves.empty()) settled_ = false;
  for (const Move& move : moves) {
    balance_ns_ -=
        move_ns_byte_ * static_cast<double>(view.objects[move.object].bytes);
  }
}

}  // namespace thermocline
