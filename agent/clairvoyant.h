// Clairvoyant: what one could do who knew a world's future, moves paid.
//
// Each object by itself is a small dynamic program over steps and tiers; what
// joins them is the room in each tier. Lagrangian relaxation puts a price on
// that room, by step and tier, and a subgradient method raises the price where
// too much is wanted (Held, Wolfe, Crowder 1974; Polyak's step length). Any
// prices give a bound that no policy can beat. Near the best of them, what an
// object would save in fast memory, price and move paid, is a score to pack
// by; packing so is what a policy could have done, had it known.
//
// The bound lets objects that appear after the first decision be born in any
// tier, wherever the kernel would have put them, and ignores the budget; so it
// may be out of reach. It also knows which regions the few samples of a window
// will hit by chance, which no policy can.
//
// Thread safety: pure function of its arguments. Cost: O(passes * objects *
// steps * tiers^2). Memory: 12 bytes by object and step.
#pragma once

#include "agent/environment.h"
#include "agent/evaluation.h"

namespace thermocline {

struct Clairvoyant {
  double bound_ns = 0;  // no policy's time, moves included, is less
  Played played;        // the best way that packing finds
};

/// `passes`: of the subgradient method. Requires: as Environment.
Clairvoyant clairvoyant(const World& world, const Episode& episode,
                        const Packer& packer, std::size_t passes = 200);

}  // namespace thermocline
