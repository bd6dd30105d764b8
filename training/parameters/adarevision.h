// AdaRevision: step sizes for gradients that arrive late.
//
// As AdaGrad, each parameter's step shrinks with the gradients that it has
// seen; but a gradient that was computed before others arrived is charged for
// their product with it, and the steps taken meanwhile are revised. Without
// delay it is AdaGrad, bit for bit. One row's state; the caller keeps `sum` as
// it was when the parameters were read.
//
// Thread safety: plain values. Source: after McMahan and Streeter (NIPS 2014),
// in the form that Boesen uses (SoCC 2015).
#pragma once

#include <span>
#include <vector>

#include "traces/result.h"

namespace thermocline {

// A row's state beside its parameters.
struct RevisionState {
  std::span<float> sum;   // of all gradients; begins at 0
  std::span<float> z;     // of squares, with what was on its way; begins at 1
  std::span<float> most;  // the largest z so far; begins at 1
};

/// Takes a gradient that was computed when state.sum was `seen`; changes the
/// parameters. Requires: all of the same length.
void revise(float step, std::span<const float> gradient,
            std::span<const float> seen, std::span<float> parameters,
            const RevisionState& state);

// The same with the state in it.
class AdaRevision {
 public:
  /// `step`: the learning rate.
  AdaRevision(std::size_t columns, float step);

  const std::vector<float>& sum() const { return sum_; }
  /// As revise().
  void apply(std::span<const float> gradient, std::span<const float> seen,
             std::span<float> parameters);

 private:
  float step_;
  std::vector<float> sum_;
  std::vector<float> z_;
  std::vector<float> most_;
};

}  // namespace thermocline
