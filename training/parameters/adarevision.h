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

class AdaRevision {
 public:
  /// `step`: the learning rate.
  AdaRevision(std::size_t columns, float step);

  const std::vector<float>& sum() const { return sum_; }
  /// Takes a gradient that was computed when sum() was `seen`; changes the
  /// parameters. Requires: all of the same length.
  void apply(std::span<const float> gradient, std::span<const float> seen,
             std::span<float> parameters);

 private:
  float step_;
  std::vector<float> sum_;   // of all gradients
  std::vector<float> z_;     // of their squares, with what was on its way
  std::vector<float> most_;  // the largest z so far
};

}  // namespace thermocline
