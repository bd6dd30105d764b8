// Managed: a target together with its policy, its guards and its window.
//
// One step of it: count what was sampled, ask the policy, let the guards
// judge, move, remember. Thread safety: none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/guards.h"
#include "daemon/mover.h"
#include "daemon/planned.h"
#include "daemon/target.h"
#include "daemon/totals.h"
#include "policies/policy.h"

namespace thermocline {

class Managed {
 public:
  Managed(Kernel& kernel, const Machine& machine, Target target,
          std::unique_ptr<Policy> policy, Guards::Options guards);

  const Target& target() const { return target_; }
  const Policy& policy() const { return *policy_; }
  /// The policy's heat of a region; 0 where it says nothing finite.
  double heat(ObjectId id) const;
  const Guards& guards() const { return guards_; }
  /// Why a region is where it is, as its policy says.
  std::string explain(ObjectId id) const;
  void set_policy(std::unique_ptr<Policy> policy);
  /// From now on there is a plan, or one in the making. While it is in force,
  /// the policy is asked at the end of a window, so that it knows the job, and
  /// nothing comes of it.
  void set_plan(std::unique_ptr<Planned> plan) { plan_ = std::move(plan); }
  Planned* plan() const { return plan_.get(); }

  /// Counts a sampled access. False when no region of the target covers it.
  bool count(const Sample& sample);

  /// Brings the target up to date. Errors: those of Target::refresh().
  Status refresh() { return target_.refresh(); }
  void glance() { target_.glance(); }

  /// How the tiers may be used by this target now.
  using Capacities = std::vector<Bytes>;
  /// Ends the window: decides, and moves unless `hold`. Returns what was
  /// decided and moved; takes moved bytes from the bucket.
  MoveTotals decide(const Capacities& capacities, TokenBucket& bucket,
                    Mover& mover, Nanos window_ns, bool hold);

  /// Moves what the plan wants now. `room`: free by tier; brought up to date.
  /// Requires: plan().
  MoveTotals follow_plan(std::vector<Bytes>& room, TokenBucket& bucket,
                         Mover& mover);

  TargetReport report() const;
  /// Estimated accesses of a region in the last whole window.
  double last_loads(ObjectId id) const;
  double last_stores(ObjectId id) const;
  std::int64_t window() const { return window_; }

 private:
  ObjectId after(ObjectId id) const;
  void find_neighbours();
  void look(const Capacities& capacities);
  std::vector<MoveOrder> orders(const std::vector<Move>& moves) const;
  void remember(const MoveOutcome& outcome, MoveTotals& totals);
  void close_window();

  Kernel* kernel_;
  const Machine* machine_;
  Target target_;
  std::unique_ptr<Policy> policy_;
  Guards guards_;
  std::unique_ptr<Planned> plan_;
  std::int64_t window_ = 0;
  std::vector<double> loads_;  // by region, in the current window
  std::vector<double> stores_;
  std::vector<double> last_loads_;
  std::vector<double> last_stores_;
  std::vector<ObjectView> objects_;
  std::vector<ObjectId> after_;  // by object: who begins where it ended
  std::vector<TierView> tiers_;
  TargetReport totals_;
  double move_ns_per_byte_ = 0;  // in the window before; 0: none were made
};

}  // namespace thermocline
