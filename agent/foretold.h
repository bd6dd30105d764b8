// Foretold: what an agent said of objects whose rows are written by turns.
//
// Where there are many objects (kManyObjects, features.h) a decision looks anew
// at a part of them. What it says of those depends on the sums over all.
//
// Thread safety: a plain value; one a tracker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/price.h"

namespace thermocline {

// By object, when its row was last new; 0 before. Of forecasts alone.
struct Foretold {
  std::vector<float> soon;         // what it loses in the next decisions
  std::vector<float> life;         // and lost so far
  std::vector<float> bytes;        // in mean objects
  std::vector<std::uint8_t> fast;  // whether it lay in the fastest tier
  double all_bytes = 0;
  double all_soon = 0;  // over these
  // What the job's own past adds, the weight of `soon` beside it, and of how
  // many decisions that is told (autoregression.h); 0: nothing is.
  std::vector<float> past;
  double weight = 1;
  double decisions = 0;
  // By which the last scores were reckoned.
  Horizon horizon;
  double life_unit = 0;  // of life

  /// What it loses soon, all things considered.
  double expected(std::size_t i) const {
    return std::max(0.0, weight * static_cast<double>(soon[i]) +
                             static_cast<double>(past[i]));
  }
  /// The price that it may cost, were it in fast memory or not.
  double price(std::size_t i, bool in_fast) const {
    return price_of({.soon = expected(i),
                     .life = life_unit * static_cast<double>(life[i]),
                     .fast = in_fast},
                    horizon);
  }

  void resize(std::size_t objects) {
    for (auto* one : {&soon, &life, &bytes, &past}) one->resize(objects);
    fast.resize(objects);
  }
};

}  // namespace thermocline
