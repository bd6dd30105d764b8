// TraitFit: how far each characteristic is to be trusted, from how well it
// foretold what came.
//
// Each characteristic of an object is a forecast of the same thing, so that
// their weights are those with which the weighted sum would have been closest
// in the squares, over the windows so far; older windows fade, so that the
// weights follow a job that changes. Every weight stays between 0 and 1; what
// nothing is known of keeps its weight.
//
// Thread safety: none. Deterministic: asks no clock. Cost: O(1) a sample.
#pragma once

#include "policies/tensor_traits.h"

namespace thermocline {

class TraitFit {
 public:
  /// `fade`: what an earlier window still counts, 0 to 1.
  TraitFit(const Traits& weights, double fade)
      : weights_(weights), fade_(fade) {}

  /// What the characteristics said, what came, and how much it matters.
  /// Requires: finite; importance at least 0.
  void add(const Traits& said, double came, double importance);
  /// Ends a window: finds the weights.
  void close();

  const Traits& weights() const { return weights_; }

 private:
  Traits weights_;
  double fade_;
  std::array<Traits, kTraits> products_{};  // of what was said, faded
  Traits hits_{};                           // products with what came
};

}  // namespace thermocline
