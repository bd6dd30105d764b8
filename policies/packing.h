// pack(): turns a wish (a score per object) into legal moves.
//
// Policies that rank objects share this last step: it fills the fastest tier
// with the objects of the highest score, then the next tier, within capacities
// and budget, and disturbs as little as it can: what lies in a faster tier
// stays unless what replaces it scores better by a margin.
//
// Thread safety: pure functions. Determinism: ties go to the lower ObjectId.
#pragma once

#include <span>
#include <vector>

#include "policies/object_columns.h"
#include "policies/policy.h"

namespace thermocline {

struct PackOptions {
  // A replacement must score more than (1 + hysteresis) times what it puts
  // out. 0: any better score will do. At least 0.
  double hysteresis = 0.2;
  // Share of each tier's capacity that pack() fills, 0 to 1; the rest is left
  // to the kernel and to new objects. What already lies above it stays unless
  // the tier holds more than its capacity.
  double fill = 1.0;
};

/// The moves to make now, by the contract of Policy::decide: demotions first,
/// then promotions, each most valuable first; at most one an object.
///
/// score[i] is the value per byte of having object i in the fastest rather
/// than the slowest tier; <= 0 (or NaN): do not promote it, and it is the first
/// to go when room is needed. Objects beyond score.size() count as 0. Tiers
/// that hold more than their capacity are drained as far as the budget allows.
/// Objects that are immovable or have 0 bytes are never moved; the room that
/// they take counts (TierView::used, or the objects' sum if that is more).
/// Cost: O((objects log objects) * tiers).
std::vector<Move> pack(const View& view, std::span<const double> score,
                       const PackOptions& options = {});
/// To the brim: a Packer (agent/environment.h).
std::vector<Move> pack_full(const View& view, std::span<const double> score,
                            double hysteresis);
/// The same as pack() for who has the view's columns: what they say is not read
/// again. Requires: they are of this view; score has one for each object.
std::vector<Move> pack(const View& view, const ObjectColumns& columns,
                       std::span<const double> score,
                       const PackOptions& options = {});

}  // namespace thermocline
