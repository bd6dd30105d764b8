// Planned: a target's plan: made from a recorded step, followed as the job
// runs, carried out by the mover.
//
// Only pages that lie in a tensor as a whole are moved; those at its ends,
// which it shares with its neighbours, stay where they are, and a tensor
// without a whole page counts as moved. What the guards hold back: no room in
// the tier as the kernel says now, no budget, memory that the job bound or
// that failed lately. Residence and ping-pong do not apply: they hold back a
// policy that changes its mind, and a plan that goes there and back in every
// step has counted that in its cost; it moves a tensor as often as it says and
// no more, within the budget, and only while the job keeps to it.
//
// A tensor is moved after it was touched, never born elsewhere: only the job's
// own thread could bind its memory before, and nobody makes it wait.
//
// Thread safety: none. Ownership: shares the basis.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/budget.h"
#include "daemon/guards.h"
#include "daemon/move_thread.h"
#include "daemon/plan_maker.h"
#include "daemon/target.h"
#include "daemon/totals.h"
#include "policies/plan_follower.h"
#include "tracer/observer_server.h"

namespace thermocline {

class Planned {
 public:
  // Bytes that one act() moves, but for a larger tensor: the daemon answers
  // nobody meanwhile.
  static constexpr Bytes kAtOnce = Bytes{16} << 20;

  explicit Planned(std::shared_ptr<const PlanBasis> basis);
  /// Asks the policy for a plan. Until it is there, the old one is in force.
  void make(Policy& policy, const Room& room);

  void hear(const ObserverEvent& event, Nanos now);
  /// Takes up the plan when it is made, and what is found on the way; call it
  /// now and then.
  void look();

  bool in_force() const { return follower_.in_force(); }
  /// When act() may have something to do; none: after the next event.
  std::optional<Nanos> next_due() const { return follower_.next_due(); }

  // What moves need.
  struct Means {
    Kernel& kernel;
    const Machine& machine;
    Target& target;
    Guards& guards;
    BudgetShare budget;
    std::vector<Bytes>& room;  // free by tier, for moves; they change it
    std::int64_t window = 0;
    bool moves = true;              // false: a dry run
    Refusal hold = Refusal::kNone;  // none may be made, for the time being
  };
  /// What is due, as orders, or counts why not. Until landed() has told what
  /// became of them, it must not be asked again.
  MoveTotals act(const Means& means, std::vector<MoveOrder>& orders);
  /// Bytes for which act() found no room in the fastest tier, at most at once,
  /// since this was asked last.
  Bytes take_lacking() { return std::exchange(lacking_, 0); }
  /// The memory of the plan's tensors that are known to live, ascending.
  std::vector<Region> living() const { return follower_.living(); }
  /// What became of the orders of the last act(). Those of a plan before this
  /// one change nothing.
  void landed(const MoveThread::Done& done, Target& target, Nanos now);

  /// What its user should be told of since the last call.
  std::vector<std::string> news();
  PlanReport report() const;
  /// One sentence on the plan and what lies at an address.
  std::string explain(Address address, const Machine& machine) const;

 private:
  using Wishes = std::vector<PlanFollower::Wish>;
  bool has_plan() const {
    return follower_.state() != PlanFollower::State::kNoPlan;
  }
  Refusal judge(const Means& means, const PlanFollower::Wish& wish, Bytes bytes,
                Bytes budget) const;

  std::shared_ptr<const PlanBasis> basis_;
  PlanFollower follower_;
  std::unique_ptr<PlanMaker> maker_;
  Bytes lacking_ = 0;
  Wishes sent_;  // what the orders on their way are for
  bool sent_dry_ = false;
  std::string trouble_;  // why there is no plan
  std::vector<std::string> news_;
};

}  // namespace thermocline
