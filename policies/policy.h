// Policy: decides where objects lie, from what was seen of them.
//
// One interface for all: what ranks objects by their heat window by window
// (decide), and what plans a repeating job ahead (plan). A planner is a policy,
// too, because a plan holds only as long as the job repeats: without one, the
// same instance decides online.
//
// The daemon calls decide() once per window for each target; the replayer and
// the tests call it on traces. A policy is pure: it sees a View, returns
// Moves, touches nothing, and has no clock of its own. Guards (capacity,
// budget, residence) are applied to its moves afterwards, whatever it says;
// but a policy that overfills a tier fails the contract tests.
//
// Thread safety: one instance per target, used by one thread at a time.
// Determinism: the same options and the same views give the same moves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/view.h"
#include "policies/plan.h"
#include "traces/registry.h"
#include "traces/types.h"

namespace thermocline {

class Policy {
 public:
  virtual ~Policy() = default;

  /// The moves to make now, most valuable first, demotions before the
  /// promotions that need their room. Contract: every move's object exists, is
  /// movable, lies in `from`, and from != to; no tier but the slowest holds
  /// more than its capacity after them; promised bytes are within the budget;
  /// at most one move per object.
  virtual std::vector<Move> decide(const View& view) = 0;

  /// Heat of an object: estimated nanoseconds per window that the job gains
  /// when it lies in the fastest rather than the slowest tier. 0 if unknown.
  virtual double heat(ObjectId object) const = 0;

  /// One sentence that says why the object is where it is.
  virtual std::string explain(ObjectId object) const = 0;

  /// What a policy counts of its own, for reports: name -> how often since it
  /// was made. Most count nothing.
  virtual std::map<std::string, std::uint64_t> counts() const { return {}; }

  /// What it has learned of the job, so that it outlives a restart of the
  /// daemon: bytes that mean something only to another of the same name and
  /// options. Empty (the default): nothing. A state keeps at most 1 MiB of it.
  virtual std::string learned() const { return {}; }

  /// Goes on from what learned() said. Requires: nothing was decided yet.
  /// Errors: kUnsupported (the default) and kCorrupt, saying why these bytes
  /// are not for this policy; then it begins anew.
  virtual Status recall(const std::string& learned) {
    (void)learned;
    return unsupported("this policy keeps nothing");
  }

  /// Where a launcher lets the kernel put new pages: kNoTier leaves it to the
  /// kernel (first touch); otherwise pages are bound to this tier.
  virtual TierId birth_tier(std::size_t tiers) const {
    (void)tiers;
    return kNoTier;
  }

  /// For a job whose steps repeat: what to do in each of them, within `room`.
  /// None (the default): it decides by decide() alone. A plan keeps check() of
  /// plan.h and is found without asking a clock what to do, but for a time
  /// limit that is an option. Errors: kUnsupported or kInvalid, saying what
  /// about the job or the room makes a plan impossible. Whoever asked then goes
  /// on with decide(); so it does when the job drifts from the plan.
  virtual Result<std::optional<Plan>> plan(const Iteration& iteration,
                                           const Room& room) {
    (void)iteration;
    (void)room;
    return std::optional<Plan>{};
  }
};

// In the registry: name -> Policy. `thermocline list` prints it.

}  // namespace thermocline
