#include "agent/on_paper.h"

#include <algorithm>

#include "agent/slow_loss.h"

namespace thermocline {
namespace {

constexpr std::size_t kTurns = 8;

}  // namespace

TierId OnPaper::tier_of(const ObjectView& one, const Account& account) {
  TierId& tier = tier_[one.id];
  if (one.bytes == 0) return tier = kNoTier;
  if (tier == kNoTier) {
    const TierId untouched = account.untouched(one.id);
    tier = untouched == kNoTier ? one.tier : untouched;
  }
  return tier;
}

void OnPaper::move(const View& view, const Account& account,
                   const Foretold& foretold, const Packer& packer) {
  objects_.assign(view.objects.begin(), view.objects.end());
  tiers_.assign(view.tiers.begin(), view.tiers.end());
  score_.assign(objects_.size(), 0);
  for (TierView& tier : tiers_) tier.used = 0;
  for (ObjectView& one : objects_) {
    const TierId tier = tier_of(one, account);
    if (tier == kNoTier) continue;
    one.tier = tier;
    tiers_[tier].used += one.bytes;
    score_[one.id] = foretold.price(one.id, tier == 0);
  }
  View paper = view;
  paper.objects = objects_;
  paper.tiers = tiers_;
  paper.budget = Bytes{1} << 62;
  for (const Move& move : packer(paper, score_, 0)) {
    tier_[move.object] = move.to;
    earned_ns_ -= account.move_ns_byte() *
                  static_cast<double>(objects_[move.object].bytes);
  }
}

void OnPaper::follow(const View& view, const FeatureTracker& seen,
                     const Account& account, const Foretold& foretold,
                     const Packer& packer) {
  tier_.resize(view.objects.size(), kNoTier);
  const SlowLoss loss(view);
  double saved = 0;
  for (const ObjectId i : seen.due()) {
    const ObjectView& one = view.objects[i];
    const TierId tier = tier_of(one, account);
    const TierId untouched = account.untouched(i);
    if (tier == kNoTier || untouched == kNoTier) continue;
    if ((tier == 0) == (untouched == 0)) continue;
    saved += tier == 0 ? loss.of(one) : -loss.of(one);
  }
  earned_ns_ += saved * account.factor();
  const bool many = view.objects.size() >= kManyObjects;
  if (!many || turn_++ % kTurns == 0) move(view, account, foretold, packer);
  earned_ns_ = std::max(0.0, earned_ns_);
}

double OnPaper::lent_ns(double share, double windows,
                        const Account& account) const {
  return std::min(share * earned_ns_, windows * account.mean_window_ns());
}

}  // namespace thermocline
