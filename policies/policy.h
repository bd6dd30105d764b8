// Policy: decides where objects lie, from what was seen of them.
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

#include <span>
#include <string>
#include <vector>

#include "estimator/machine.h"
#include "traces/registry.h"
#include "traces/types.h"

namespace thermocline {

// One object as it stands at the end of a window. Accesses are estimated
// counts (samples times period) in this window alone.
struct ObjectView {
  ObjectId id = 0;       // index into View::objects
  Bytes bytes = 0;       // resident bytes; 0: nothing to place now
  TierId tier = 0;       // where most of its bytes lie
  double loads = 0;
  double stores = 0;
  bool movable = true;   // false: pinned, bound by the job, or refused lately
};

// A tier as this target may use it.
struct TierView {
  Bytes capacity = 0;  // bytes this target may have here
  Bytes used = 0;      // bytes of its objects that lie here
  double read_ns = 0;  // as in Machine
  double write_ns = 0;
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
};

struct View {
  std::int64_t window = 0;   // 0, 1, 2, ... of this target
  Nanos window_ns = 0;       // length of the window
  Bytes budget = 0;          // bytes that may be moved before the next window
  std::span<const ObjectView> objects;  // objects[i].id == i; may grow
  std::span<const TierView> tiers;      // fastest first
};

struct Move {
  ObjectId object = 0;
  TierId from = 0;
  TierId to = 0;
  bool operator==(const Move&) const = default;
};

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

  /// Where a launcher lets the kernel put new pages: kNoTier leaves it to the
  /// kernel (first touch); otherwise pages are bound to this tier.
  virtual TierId birth_tier(std::size_t tiers) const {
    (void)tiers;
    return kNoTier;
  }
};

// In the registry: name -> Policy. `thermocline list` prints it.

}  // namespace thermocline
