// Account: moves are paid from what moves have earned.
//
// A forecast can be wrong, and a job unlike all that an agent was trained on.
// So the account reckons, window by window, what the job would have lost had
// nothing ever moved, less what it does lose: what moves earn. Bytes may move
// for as much time as was earned and not spent, and for a small stake in
// advance; each for the way back as well, so that all can be put back where it
// would be for what is left. A job whose moves do not pay loses the stake and
// little more; one whose moves pay soon has all that it needs.
//
// What moves would have earned, had nothing held them back, is reckoned as well
// (on_paper.h). Half of it is lent: a job in which moves pay is seen to be one
// before its own have paid.
//
// The way back is paid. So when no more is left than that, what lies elsewhere
// may still go home where it is foreseen to be better.
//
// Where things lie goes on costing when nothing moves any more. Once nothing is
// left at all, an object is to be put back as soon as it has cost as much,
// where it lies, as a swap, whatever is foreseen: sooner would be to pay for
// what may pass, and what costs nothing may stay. (A ski rental for each:
// Karlin et al., Algorithmica 3, 1988.) When nothing that costs is away and the
// job has lasted for twice as long (and for so long that a stake is 1 % of its
// time), what was lost beyond the stake is sunk, and where things lie is where
// they would be: to earn it again would take the rest of the job, and says
// nothing of what moves would earn in it. So a job in which moves never pay
// loses ever less of its time.
//
// Earnings are modelled: accesses times the latency between the tiers. How much
// time that is in truth hangs on the job (misses overlap, or wait for one
// another), and the model is wrong by a factor of 0.6 to 6. What windows took
// tells it, once they differ in where their accesses went (measured_cost.h).
// Until then an agent does that foresees what is lost, for it has learned from
// jobs that were measured: what it foresees, over what is modelled of the same
// windows. Of one that does not foresee, the model is taken down by how far it
// overrates (were it right, what stalls could not exceed the window).
//
// A window without an access is no time of the job's: it earns no stake.
//
// Thread safety: none. Cost: O(objects) a window.
#pragma once

#include <span>
#include <vector>

#include "agent/features.h"
#include "agent/measured_cost.h"
#include "estimator/view.h"

namespace thermocline {

class Account {
 public:
  struct Options {
    double stake = 1.5;    // windows' time that may be lost at first
    double drift = 0.003;  // and of the time since, this share
    bool measured = true;  // what windows took corrects the model
  };
  explicit Account(Options options) : options_(options) {}

  /// Takes in a window; the bytes that may move before the next. `seen` has
  /// taken in the same view; `foreseen` is what Agent::score() returned of it;
  /// `lent_ns` may be lost beyond the stake.
  Bytes allow(const View& view, const FeatureTracker& seen, double foreseen,
              double lent_ns = 0);
  /// What is to be moved of it. It is paid once it is seen to lie there, for
  /// not all that is asked for is moved: guards refuse, and pages fail. What is
  /// asked for takes the place of what was asked for before and never came.
  void spend(const View& view, std::span<const Move> moves);
  /// No more is left than what is to be put back will take: nothing but that
  /// may move.
  bool only_home() const { return back_ns_ > 0 && may_ns_ <= back_ns_; }
  /// Nothing is left, and something has cost enough where it lies to go back.
  bool losing() const { return may_ns_ <= 0 && owing_ > 0; }
  /// No more can be put back for now: there is no room for it, or it will not
  /// move. That is as good as all being back.
  void settle() { settled_ = true; }
  /// Scores (packing.h) by which that goes home: what is foreseen (`score`), or
  /// where it has cost enough, what it costs of late, a byte and window, in the
  /// score's unit (`unit_ns_byte`), if that is more. All else stays where it
  /// is. `view` is what allow() saw last.
  void scores_home(const View& view, std::span<const double> score,
                   double unit_ns_byte, std::vector<double>& out) const;
  /// Where an object would lie had nothing ever moved; kNoTier: not there.
  TierId untouched(ObjectId object) const {
    return object < untouched_.size() ? untouched_[object] : kNoTier;
  }
  /// What a modelled ns takes, as far as is known.
  double factor() const { return factor_; }
  /// What it costs to move a byte.
  double move_ns_byte() const { return move_ns_byte_; }
  /// Of the windows so far; 0 before the first.
  double mean_window_ns() const {
    return elapsed_ns_ / static_cast<double>(windows_ > 1 ? windows_ : 1);
  }
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
  // What an object costs that lies elsewhere than untouched, ns; below 0, what
  // it earns.
  struct Away {
    double cost = 0;  // since it lies there
    double late = 0;  // a window, over the last few
  };
  // A move that was asked for, and its price, ns.
  struct Asked {
    Move move;
    double ns = 0;
  };
  // Pays for what has come.
  void pay(const View& view);
  // What costs lies as if untouched, or as near as it can.
  void forgive(const View& view, double advance_ns);
  // Whether a swap would cost no more than it has cost.
  bool owes(const ObjectView& one) const {
    const double cost = away_[one.id].cost;
    return cost > 0 &&
           cost >= 2 * move_ns_byte_ * static_cast<double>(one.bytes);
  }
  // In one pass, for there may be many.
  Sums see(const View& view);
  // `used`: of fast memory, by those that are there, had nothing ever moved.
  TierId born(const View& view, const ObjectView& one, Bytes& used) const;
  // Of modelled time, by what was foreseen.
  double foreseen_factor(const View& view, const FeatureTracker& seen,
                         const Sums& sums, double foreseen);
  // Of the footprint's move, there or back, a byte's share; and of all that
  // lies elsewhere than untouched, the way back.
  void price_moves(const View& view, const FeatureTracker& seen,
                   const Sums& sums);

  Options options_;
  // Where each object would lie had nothing ever moved (what is moved out
  // makes room for what is born later); kNoTier: it is not there.
  std::vector<TierId> untouched_;
  std::vector<ObjectId> born_;  // in this window
  std::vector<Asked> asked_;    // and has not come yet
  double balance_ns_ = 0;
  double elapsed_ns_ = 0;
  double move_ns_byte_ = 0;
  double may_ns_ = 0;       // that moves may take now
  double foreseen_ns_ = 0;  // lost if all were slow; over a hundred windows
  double modelled_ns_ = 0;  // the same by the model
  double back_ns_ = 0;      // to put all back
  MeasuredCost measured_;
  double factor_ = 1;       // on modelled time, in the last window
  Bytes owing_ = 0;         // of what costs enough to go back
  std::vector<Away> away_;  // by object
  std::int64_t windows_ = 0;
  bool moved_ = false;          // anything, ever
  bool settled_ = false;        // since the last move
  std::int64_t try_again_ = 0;  // when what is lost is sunk; 0: nothing is
};

}  // namespace thermocline
