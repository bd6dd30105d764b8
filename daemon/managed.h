// Managed: a target together with its policy, its guards and its window.
//
// One step of it: count what was sampled, ask the policy, let the guards
// judge, move, remember. Thread safety: none.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/budget.h"
#include "daemon/expected.h"
#include "daemon/fast_shares.h"
#include "daemon/guards.h"
#include "daemon/huge_groups.h"
#include "daemon/move_thread.h"
#include "daemon/planned.h"
#include "daemon/policy_watch.h"
#include "daemon/target.h"
#include "daemon/totals.h"
#include "policies/policy.h"
#include "policies/usual.h"

namespace thermocline {

// What is to be known of a region after a restart.
struct RegionMemory {
  Address start = 0;
  Address end = 0;
  float loads = 0;  // a window
  float stores = 0;
  float heat_ns = 0;  // as the policy last said; for people
  TierId tier = kNoTier;
  Guards::Memory guards;
};

// What is to be known of a target after a restart.
struct TargetMemory {
  std::int64_t window = 0;
  std::vector<RegionMemory> regions;
  std::vector<Blacklist::Memory> blacklist;
  SlowdownWatch::Memory slowdown;
  ThrashWatch::Memory thrash;
  std::string learned;  // by its policy (Policy::learned)
};

// What of a TargetMemory was of use.
struct Recalled {
  std::size_t regions = 0;
  Status learned;  // why its policy does not go on from what it learned
};

class Managed {
 public:
  /// `serial` tells it from all others of this service, past ones included.
  Managed(Kernel& kernel, const Machine& machine, std::uint64_t serial,
          Target target, std::unique_ptr<Policy> policy,
          Guards::Options guards);

  std::uint64_t serial() const { return serial_; }
  const Target& target() const { return target_; }
  const Policy& policy() const { return *policy_; }
  /// Whether a report says for the first time that the policy does not decide.
  PolicyWatch::News policy_news(const TargetReport& report) {
    return policy_watch_.see(report.policy_counts);
  }
  /// The policy's heat of a region, of one in a huge page its part of that; 0
  /// where it says nothing finite.
  double heat(ObjectId id) const;
  /// The region that is moved when this one is: the first of its huge page, or
  /// itself.
  ObjectId leader(ObjectId id) const { return huge_.leader(id); }
  const Guards& guards() const { return guards_; }
  /// From now on these; what is known of objects stays.
  void set_guards(const Guards::Options& guards);
  const SlowdownWatch& slowdown() const { return slowdown_; }
  const ThrashWatch& thrash() const { return thrash_; }
  const Blacklist& blacklist() const { return blacklist_; }

  /// Its part of fast memory among several targets.
  const FastShare& share() const { return share_; }
  void set_share(FastShare share) { share_ = share; }
  /// Keeps other daemons off the process as long as this is there.
  void keep(Claim claim) { claim_ = std::move(claim); }
  /// Why a region is where it is, as its policy says.
  std::string explain(ObjectId id) const;
  void set_policy(std::unique_ptr<Policy> policy);
  /// From now on there is a plan, or one in the making. While it is in force,
  /// the policy is asked at the end of a window, so that it knows the job, but
  /// may move nothing; and what is no tensor makes room where the plan finds
  /// none (plan_room.h).
  void set_plan(std::unique_ptr<Planned> plan) { plan_ = std::move(plan); }
  Planned* plan() const { return plan_.get(); }

  /// Counts a sampled access, unless a cache had its data. False when no region
  /// of the target covers it.
  bool count(const Sample& sample);
  /// Counts accesses that the job says it makes in this window; to the policy,
  /// a region has those or the sampled ones, whichever are more. Requires: a
  /// region of the target.
  void expect(ObjectId id, const Expected::Accesses& accesses) {
    expected_.add(id, accesses);
  }

  /// Brings the target up to date. Errors: those of Target::refresh().
  Status refresh() { return target_.refresh(); }
  void glance() { target_.glance(); }

  /// What it has of the fastest tier and could get, by the last windows.
  const Usual& fast_room() const { return fast_room_; }
  void see_fast_room(Bytes bytes) { fast_room_.see(bytes); }

  /// How the tiers may be used by this target now.
  using Capacities = std::vector<Bytes>;
  // What the world outside says to moves.
  struct Brake {
    bool paused = false;  // nothing is decided
    Refusal refusal = Refusal::kNone;
  };
  /// Ends the window: decides, and has it moved as far as the guards let.
  /// Returns what was decided; takes its bytes from the budget.
  MoveTotals decide(const Capacities& capacities, BudgetShare budget,
                    MoveThread& moves, Nanos window_ns, Brake brake);

  /// Has moved what the plan wants now. `room`: free by tier; brought up to
  /// date. Requires: plan().
  MoveTotals follow_plan(std::vector<Bytes>& room, BudgetShare budget,
                         MoveThread& moves);

  /// Whether a batch of its moves is on its way: nothing else is moved then.
  bool in_flight() const { return flight_.has_value(); }
  /// Which brake is on; kNone: none.
  Refusal held() const;
  /// The observer told that an operator ran.
  void progressed() { ++operators_; }
  /// Bytes on their way to a tier.
  Bytes arriving(TierId tier) const;
  /// Takes over what became of the batch; gives back to the budget what was
  /// not moved after all. Requires: in_flight(), and the batch is its own.
  MoveTotals landed(const MoveThread::Done& done, BudgetShare budget);

  TargetReport report() const;
  /// Estimated accesses of a region in the last whole window.
  double last_loads(ObjectId id) const;
  double last_stores(ObjectId id) const;
  /// The same, in the mean of windows: the last counts 0.3, all before it 0.7.
  /// A window has few samples of a region, and often none.
  Expected::Accesses recent(ObjectId id) const;
  /// What the job told of, in the last whole window.
  Expected::Accesses last_expected(ObjectId id) const {
    return expected_.last(id);
  }
  std::int64_t window() const { return window_; }

  /// What is to outlive the daemon of a region, with its recent accesses.
  RegionMemory memory(ObjectId id) const;
  /// Goes on where another left off: the accesses count as seen in the window
  /// that begins now. Regions that are no more are passed over.
  Recalled recall(const TargetMemory& memory);

 private:
  struct Recent {
    float loads = 0;
    float stores = 0;
  };
  void adapt();
  void remember_accesses();
  ObjectId after(ObjectId id) const;
  void grow_counts();  // to as many as there are regions
  void find_neighbours();
  void meet_neighbours(ObjectId id);
  void look(const Capacities& capacities);
  double fast_share_of(Source source, ObjectId id);
  std::vector<Move> make_room_for_plan(TierView& fast);
  void judge_window(Nanos window_ns);
  Bytes bytes_to_move(ObjectId leader, TierId to) const;
  std::vector<MoveOrder> orders(const std::vector<Move>& moves);
  void send(std::vector<MoveOrder> orders, const MoveTotals& totals,
            bool planned, BudgetShare budget, MoveThread& moves);
  void remember(std::span<const MoveOutcome> outcomes, std::int64_t window);
  void close_window();

  struct Flight {
    std::int64_t window = 0;  // in which it was decided
    Bytes bytes = 0;          // taken from the budget
    bool planned = false;
    std::vector<Bytes> to;  // by tier
  };

  Kernel* kernel_;
  const Machine* machine_;
  std::uint64_t serial_;
  Target target_;
  std::unique_ptr<Policy> policy_;
  Guards guards_;
  std::unique_ptr<Planned> plan_;
  std::optional<Flight> flight_;
  std::int64_t window_ = 0;
  std::vector<double> loads_;  // by region, in the current window
  std::vector<double> stores_;
  std::vector<double> waited_;  // by region, cycles
  double fast_accesses_ = 0;    // in the current window
  bool slow_is_named_ = false;  // by the hardware, in samples
  Expected expected_;
  std::vector<double> last_loads_;
  std::vector<double> last_stores_;
  std::vector<Recent> recent_;
  HugeGroups huge_;
  std::vector<ObjectView> objects_;
  std::vector<ObjectView> parts_;  // the same, huge pages' regions apart
  std::vector<ObjectId> after_;    // by object: who begins where it ended
  std::vector<TierView> tiers_;
  Usual fast_room_;
  TargetReport totals_;
  // Of what landed since the last decision.
  struct Landed {
    Bytes bytes = 0;
    Nanos took = 0;
    Bytes returned = 0;
    bool planned = false;
  };
  Landed landed_;
  SlowdownWatch slowdown_;
  ThrashWatch thrash_;
  Blacklist blacklist_;
  std::int64_t thrash_span_;
  Refusal pressure_ = Refusal::kNone;
  PolicyWatch policy_watch_;
  FastShare share_;
  Claim claim_;
  Bytes working_set_ = 0;        // in the window
  std::uint64_t operators_ = 0;  // in the window
  double sampled_ = 0;           // accesses, since the start
  std::uint64_t samples_ = 0;    // likewise
};

}  // namespace thermocline
