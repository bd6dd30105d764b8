// OnPaper: what would have been earned, had every forecast been followed.
//
// The account (account.h) lets little move before moves have earned it, so a
// forecast that is right is believed late: where a whole array must come before
// anything is gained, never. But accesses do not depend on where data lie, and
// so it can be reckoned what unlimited moves would have cost and saved: the
// same scores and the same packing, for a placement that is on paper only. What
// that has earned of late is lent to the account, a share of it and no more
// than some windows' time. What it has lost is no debt: a job that begins with
// a phase that nobody foresees may go on otherwise, as in a test for a change
// by cumulative sums (Page, Biometrika 41, 1954).
//
// It believes the model, as far as the account has measured it. Where that is
// wrong, no more is lost than what is lent.
//
// Of kManyObjects (features.h) or more it moves in every eighth window only.
//
// Thread safety: none. Cost: O(what was accessed) a window, and where it moves
// that of the packer.
#pragma once

#include <span>
#include <vector>

#include "agent/account.h"
#include "agent/environment.h"
#include "agent/features.h"
#include "agent/foretold.h"
#include "estimator/view.h"

namespace thermocline {

class OnPaper {
 public:
  /// Takes in a window, then moves what `packer` says, without a limit. `seen`,
  /// `account` and `foretold` have taken in the same view.
  void follow(const View& view, const FeatureTracker& seen,
              const Account& account, const Foretold& foretold,
              const Packer& packer);
  /// To lend: this share of what was earned, at most so many windows' time.
  double lent_ns(double share, double windows, const Account& account) const;
  /// Earned of late, never below 0.
  double earned_ns() const { return earned_ns_; }

 private:
  // Where it lies on paper; where it would untouched, when first asked.
  TierId tier_of(const ObjectView& one, const Account& account);
  void move(const View& view, const Account& account, const Foretold& foretold,
            const Packer& packer);

  std::vector<TierId> tier_;  // by object; kNoTier: not there
  std::vector<ObjectView> objects_;
  std::vector<TierView> tiers_;
  std::vector<double> score_;
  double earned_ns_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace thermocline
