#include "agent/account.h"

#include <algorithm>
#include <cmath>

#include "agent/slow_loss.h"

namespace thermocline {
namespace {

constexpr double kKept = 0.99;     // of what is known of the model, by window
constexpr double kMostWrong = 16;  // the model, either way
// What is lost is not sunk before a stake is so small a part of the time.
constexpr double kStakes = 100;
constexpr double kStays = 1e30;  // scored so, it goes for nothing else
constexpr double kLately = 0.8;  // of what something costs, by window

}  // namespace

// Where it would lie in a job that nobody touched, which was born now.
TierId Account::born(const View& view, const ObjectView& one,
                     Bytes& used) const {
  const TierView& fast = view.tiers.front();
  TierId tier = one.tier;
  // Before anything has moved that is where it is, however full that makes a
  // tier.
  if (moved_) {
    // In slow memory although there was room: bound to it, or moved in this
    // very window.
    const bool had_room = fast.used + one.bytes <= fast.capacity;
    const bool fits = used + one.bytes <= fast.capacity;
    if (tier == 0 && !fits) tier = static_cast<TierId>(view.tiers.size() - 1);
    if (tier != 0 && fits && !had_room) tier = 0;
  }
  if (tier == 0) used += one.bytes;
  return tier;
}

double Account::foreseen_factor(const View& view, const FeatureTracker& seen,
                                const Sums& sums, double foreseen) {
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  if (!(foreseen >= 0)) {
    const double stalled = std::max(seen.stall() * window,
                                    sums.lost + std::max(0.0, sums.avoided));
    return 1 / (1 + stalled / window);
  }
  if (sums.all > 0) {
    foreseen_ns_ = kKept * foreseen_ns_ + foreseen * window;
    modelled_ns_ = kKept * modelled_ns_ + sums.all;
  }
  return modelled_ns_ > 0 ? foreseen_ns_ / modelled_ns_ : 1;
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
  away_.resize(view.objects.size());
  born_.clear();
  owing_ = 0;
  const SlowLoss loss(view);
  Sums out;
  const auto add = [&](const ObjectView& one, TierId untouched) {
    const double modelled = loss.of(one);
    out.all += modelled;
    out.accesses += one.loads + one.stores;
    if (untouched == kNoTier) return;
    const bool is = one.tier != 0;
    const bool was = untouched != 0;
    const auto bytes = static_cast<double>(one.bytes);
    out.footprint += bytes;
    out.lost += modelled * static_cast<double>(is);
    if (was == is) return;
    Away& away = away_[one.id];
    out.elsewhere += bytes;
    out.avoided += was ? modelled : -modelled;
    const double cost = factor_ * (was ? -modelled : modelled);
    away.cost += cost;
    away.late = kLately * away.late + (1 - kLately) * cost;
    if (owes(one)) owing_ += one.bytes;
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
    away_[i] = {};
    add(one, untouched_[i]);
  }
  return out;
}

void Account::forgive(const View& view, double advance_ns) {
  if (balance_ns_ >= -advance_ns) return;
  if (try_again_ == 0) {
    try_again_ = std::max(
        2 * windows_,
        static_cast<std::int64_t>(std::max(1.0, options_.stake) * kStakes));
  }
  if (windows_ < try_again_) return;
  balance_ns_ = -advance_ns;
  try_again_ = 0;
  // What lies elsewhere costs nothing there: it is at home now.
  for (const ObjectView& one : view.objects) {
    if (untouched_[one.id] != kNoTier) untouched_[one.id] = one.tier;
  }
  back_ns_ = 0;
}

Bytes Account::allow(const View& view, const FeatureTracker& seen,
                     double foreseen, double lent_ns) {
  pay(view);
  const Sums sums = see(view);
  price_moves(view, seen, sums);
  const auto window = static_cast<double>(std::max<Nanos>(1, view.window_ns));
  if (options_.measured) measured_.see(window, sums.all, sums.lost);
  factor_ =
      std::clamp(measured_.factor(foreseen_factor(view, seen, sums, foreseen)),
                 1 / kMostWrong, kMostWrong);
  if (sums.accesses > 0) {
    ++windows_;
    elapsed_ns_ += window;
  }
  balance_ns_ += sums.avoided * factor_;
  const double advance_ns = options_.stake * mean_window_ns() +
                            options_.drift * elapsed_ns_ + lent_ns;
  if (owing_ == 0) settle();
  if (settled_) forgive(view, advance_ns);
  may_ns_ = balance_ns_ + advance_ns;
  // There and back.
  const double left_ns = (may_ns_ - back_ns_) / 2;
  if (left_ns <= 0) return 0;
  constexpr double kAll = 1e18;
  return static_cast<Bytes>(
      std::min(left_ns / std::max(move_ns_byte_, 1e-9), kAll));
}

void Account::scores_home(const View& view, std::span<const double> score,
                          double unit_ns_byte, std::vector<double>& out) const {
  out.resize(view.objects.size());
  const bool owed = losing();
  for (const ObjectView& one : view.objects) {
    const bool is = one.tier != 0;
    const TierId untouched = untouched_[one.id];
    double& to = out[one.id];
    to = is ? -1 : kStays;
    if (untouched == kNoTier || (untouched != 0) == is) continue;
    to = score[one.id];
    if (!owed || !is || !owes(one)) continue;
    const double late =
        away_[one.id].late / std::max(1.0, static_cast<double>(one.bytes));
    to = std::max(to, late / unit_ns_byte);
  }
}

void Account::spend(const View& view, std::span<const Move> moves) {
  if (moves.empty()) return;
  asked_.clear();
  for (const Move& move : moves) {
    const auto bytes = static_cast<double>(view.objects[move.object].bytes);
    asked_.push_back({move, move_ns_byte_ * bytes});
  }
}

void Account::pay(const View& view) {
  std::erase_if(asked_, [&](const Asked& one) {
    const ObjectId object = one.move.object;
    if (view.objects[object].tier != one.move.to) return false;
    settled_ = false;
    moved_ = true;
    away_[object] = {};
    balance_ns_ -= one.ns;
    return true;
  });
}

}  // namespace thermocline
