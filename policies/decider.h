// Decider: may this tensor move, or does it stay?
//
// The seam in deeptm through which an agent's decision plugs in. DeepTM's agent
// decides tensor by tensor, {stay, move}, from where the tensor lies, its heat,
// and what is free in both memories; a Choice has these, and what the rule
// goes by. Room, budget and order of the moves are not the decider's business:
// what it wants moved may still find no room.
//
// Thread safety: one instance per policy, used by one thread at a time.
// Determinism: the same choices in the same order give the same answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/registry.h"
#include "traces/types.h"

namespace thermocline {

// A tensor (or neighbours that would move together) at one moment.
struct Choice {
  Bytes bytes = 0;
  // Lies in the fastest tier now. deeptm asks of those that do not; the others
  // leave, coldest first, as far as room is needed.
  bool fast = false;
  double heat = 0;     // expected loss in slow memory, ns per byte and window;
                       // in a plan: its weighted characteristics, 0 to 1
  double gain_ns = 0;  // what the job gains by the move
  double cost_ns = 0;  // what the move costs the job
  Bytes fast_left = 0;
  Bytes slow_left = 0;
};

class Decider {
 public:
  virtual ~Decider() = default;

  /// By choice: 1 to move, 0 to stay. Requires: moves.size() ==
  /// choices.size().
  virtual void decide(std::span<const Choice> choices,
                      std::span<std::uint8_t> moves) = 0;

  bool moves(const Choice& one) {
    std::uint8_t out = 0;
    decide({&one, 1}, {&out, 1});
    return out != 0;
  }
};

// In the registry: name -> Decider. "rule" is the one without learning.

}  // namespace thermocline
