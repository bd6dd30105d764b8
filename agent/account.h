// Account: moves are paid from what moves have earned.
//
// A forecast can be wrong, and a job unlike all that an agent was trained on.
// So the account reckons, window by window, what the job would have lost had
// nothing ever moved, less what it does lose: what moves earn. Bytes may move
// for as much time as was earned and not spent, and for a small stake in
// advance. A job whose moves do not pay loses the stake and no more; one whose
// moves pay soon has all that it needs. Where things lie goes on costing when
// nothing moves any more, so whoever has lost the stake and still loses is to
// put them back where they would be.
//
// Earnings are modelled: accesses times the latency between the tiers, taken
// down by how far the model overrates them (were it right, what stalls could
// not exceed the window).
//
// Thread safety: none. Cost: O(objects) a window.
#pragma once

#include <span>
#include <vector>

#include "agent/features.h"
#include "estimator/view.h"

namespace thermocline {

class Account {
 public:
  struct Options {
    double stake = 1;      // windows' time that may be lost at first
    double drift = 0.003;  // and of the time since, this share
  };
  explicit Account(Options options) : options_(options) {}

  /// Takes in a window; the bytes that may move before the next. `seen` has
  /// taken in the same view.
  Bytes allow(const View& view, const FeatureTracker& seen);
  /// What is moved of it.
  void spend(const View& view, std::span<const Move> moves);
  /// Nothing is left, and things lie lately where they cost a hundredth of the
  /// time more than untouched.
  bool losing() const { return may_ns_ <= 0 && lately_ns_ < -0.01 * mean_ns_; }
  /// Scores (packing.h) by which all goes back: 1 for what would lie in the
  /// fastest tier untouched, -1 for all else.
  void as_untouched(std::vector<double>& score) const;
  /// Earned less spent, in ns.
  double balance_ns() const { return balance_ns_; }

 private:
  // Where each object would lie had nothing ever moved (what is moved out
  // makes room for what is born later); kNoTier: it is not there.
  void follow_untouched(const View& view);

  Options options_;
  std::vector<TierId> untouched_;
  double balance_ns_ = 0;
  double elapsed_ns_ = 0;
  double move_ns_byte_ = 0;
  double may_ns_ = 0;     // that moves may take now
  double lately_ns_ = 0;  // earned in a window, over the last eight or so
  double mean_ns_ = 0;    // length of a window
  std::int64_t windows_ = 0;
};

}  // namespace thermocline
