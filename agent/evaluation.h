// Evaluation: how good is a way of scoring objects, against the bounds?
//
// Plays whole episodes in the Environment. Beside the agent always stand
// first_touch (nothing moves), a greedy ranking by remembered accesses, the
// best static placement in hindsight, and both endpoints.
//
// Thread safety: pure functions of their arguments, if the Scorer is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/environment.h"
#include "agent/features.h"

namespace thermocline {

// Scores every object of a view (policies/packing.h says what a score means).
using Scorer = std::function<void(const FeatureTracker& seen, const View& view,
                                  std::vector<double>& score)>;

// What decides in an Environment: legal moves for a view.
using Decide = std::function<std::vector<Move>(const View&)>;

struct Played {
  std::string policy;
  double time_ns = 0;  // estimated, moves included
  double moved_bytes = 0;
  double gap_closed = 0;  // 0: first_touch, 1: all_fast
};

// One job, one capacity.
struct Comparison {
  std::string job;
  double capacity = 0;
  bool held_out = false;         // windows that were not trained on
  std::vector<Played> outcomes;  // all_slow, first_touch, ... all_fast

  const Played& of(const std::string& policy) const;
};

/// One episode under the decisions (none: nothing moves).
Played play(const World& world, const Episode& episode, const Decide& decide);

/// The time of the windows that no decisions can beat within the episode's
/// capacity: before each window the objects that gain most per byte are put
/// into the fastest tier at no cost, the last of them in part. All tiers but
/// the fastest count as the second.
double free_moves_bound_ns(const World& world, const Episode& episode);

/// The same of placements that stay: who knew all costs and had put the objects
/// that gain most per byte into the fastest tier before the first window. What
/// moves may be faster.
double static_bound_ns(const World& world, const Episode& episode);

/// One episode under the scorer (none: nothing moves).
Played play(const World& world, const Episode& episode, const Scorer& scorer,
            const Packer& packer, double hysteresis);

/// Hottest first by an average over about 12 decisions, stores weighed.
Scorer greedy_scorer();

/// All policies on one job. The agent's hysteresis is 0: moving is in its
/// scores.
Comparison compare(const World& world, const Episode& episode,
                   const Scorer& agent, const Packer& packer);

}  // namespace thermocline
