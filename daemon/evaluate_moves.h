// What a replayed policy moved, and when: for whoever wants more of an
// evaluation than its sums.
//
// Thread safety: plain values, pure functions.
#pragma once

#include <functional>
#include <vector>

#include "agent/evaluation.h"
#include "estimator/migration.h"
#include "policies/replay.h"

namespace thermocline {

struct FollowedMoves {
  // In order of time: the windows of a run of pages, or the operators of the
  // last step, joined to kParts at most.
  static constexpr std::size_t kParts = 100;
  struct Part {
    double fast_bytes = 0;     // in the fastest tier, at its most
    double to_fast_bytes = 0;  // moved into it
    double from_fast_bytes = 0;
  };
  std::vector<Part> parts;
  double move_ns = 0;  // of a run of pages: what all moves took of its time
  // Of a run of pages: where each object lay when it was first seen, and all
  // moves, for an estimate of the very same placements.
  Schedule schedule;
};

/// One episode as play(), and what was moved in it.
Played follow(const World& world, const Episode& episode, const Decide& decide,
              FollowedMoves& out);

/// Of the last step that was replayed. Requires: a step was.
FollowedMoves follow(const Iteration& step, const Replayed& replayed);

}  // namespace thermocline
