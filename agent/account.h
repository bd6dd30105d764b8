// Account: moves are paid from what moves have earned.
//
// A forecast can be wrong, and a job unlike all that an agent was trained on.
// So the account reckons, window by window, what the job would have lost had
// nothing ever moved, less what it does lose: what moves earn. Bytes may move
// for as much time as was earned and not spent, and for a small stake in
// advance. A job whose moves do not pay loses the stake and no more; one whose
// moves pay soon has all that it needs. Where things lie goes on costing when
// nothing moves any more. Whoever has lost the stake is to put things back
// where they would be, once what that would have saved is what it costs: sooner
// would be to pay for what may pass. When all is back and the job has lasted
// for twice as long (and for so long that a stake is 1 % of its time), what was
// lost beyond the stake is sunk: to earn it again would take the rest of the
// job, and says nothing of what moves would earn in it. So a job in which moves
// never pay loses ever less of its time.
//
// Earnings are modelled: accesses times the latency between the tiers. How much
// time that is in truth hangs on the job (misses overlap, or wait for one
// another), and the model is wrong by a factor of 0.6 to 6. An agent that
// foresees what is lost has learned that factor from jobs that were measured;
// what it foresees, over what is modelled of the same windows, is what the
// model is corrected by. Of one that does not, the model is taken down by how
// far it overrates (were it right, what stalls could not exceed the window).
//
// A window without an access is no time of the job's: it earns no stake.
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
  /// taken in the same view; `foreseen` is what Agent::score() returned of it.
  Bytes allow(const View& view, const FeatureTracker& seen, double foreseen);
  /// What is moved of it.
  void spend(const View& view, std::span<const Move> moves);
  /// Nothing is left, and things have lain where they cost more than untouched
  /// for as much time as it takes to put them back.
  bool losing() const {
    return may_ns_ <= 0 && back_ns_ > 0 && regret_ns_ >= back_ns_;
  }
  /// No more can be put back for now: there is no room for it, or it will not
  /// move. That is as good as all being back.
  void settle() {
    settled_ = true;
    regret_ns_ = 0;
  }
  /// Scores (packing.h) by which all goes back: 1 for what would lie in the
  /// fastest tier untouched, -1 for all else.
  void as_untouched(std::vector<double>& score) const;
  /// Earned less spent, in ns.
  double balance_ns() const { return balance_ns_; }

 private:
  // Over all objects: modelled times, ns, and bytes.
  struct Sums {
    double avoided = 0;  // by where they lie and not where they would
    double lost = 0;     // in slow memory
    double all = 0;      // if all were slow
    double accesses = 0;
    double footprint = 0;
    double elsewhere = 0;  // that lie elsewhere than untouched
  };
  // All lies as if untouched, or as near as it can.
  void forgive(double advance_ns);
  // In one pass, for there may be many.
  Sums see(const View& view);
  // `used`: of fast memory, by those that are there, had nothing ever moved.
  static TierId born(const View& view, const ObjectView& one, Bytes& used);
  // Of modelled time, in a window that modelled `all` and `stalled`.
  double correction(const View& view, double foreseen, double all,
                    double stalled);
  // Of the footprint's move, there or back, a byte's share; and of all that
  // lies elsewhere than untouched, the way back.
  void price_moves(const View& view, const FeatureTracker& seen,
                   const Sums& sums);

  Options options_;
  // Where each object would lie had nothing ever moved (what is moved out
  // makes room for what is born later); kNoTier: it is not there.
  std::vector<TierId> untouched_;
  std::vector<ObjectId> born_;  // in this window
  double balance_ns_ = 0;
  double elapsed_ns_ = 0;
  double move_ns_byte_ = 0;
  double may_ns_ = 0;       // that moves may take now
  double foreseen_ns_ = 0;  // lost if all were slow; over a hundred windows
  double modelled_ns_ = 0;  // the same by the model
  double regret_ns_ = 0;    // lost by where things lie, since it last paid
  double back_ns_ = 0;      // to put all back
  std::int64_t windows_ = 0;
  bool settled_ = false;        // since the last move
  std::int64_t try_again_ = 0;  // when what is lost is sunk; 0: nothing is
};

}  // namespace thermocline
