// Foretold: what an agent said of objects whose rows are written by turns.
//
// Where there are many objects (kManyObjects, features.h) a decision looks anew
// at a part of them. What it says of those depends on the sums over all.
//
// Thread safety: a plain value; one a tracker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thermocline {

// By object, when its row was last new; 0 before. Of forecasts alone.
struct Foretold {
  std::vector<float> soon;         // what it loses in the next decisions
  std::vector<float> life;         // and lost so far
  std::vector<float> bytes;        // in mean objects
  std::vector<std::uint8_t> fast;  // whether it lay in the fastest tier
  double all_bytes = 0;
  double all_soon = 0;  // over these
  // Share of what all will lose, were it as in the last window, and how far
  // that is believed instead (persistence.h).
  std::vector<float> again;
  double trust = 0;

  /// What it loses soon, all things considered.
  double expected(std::size_t i) const {
    const auto own = static_cast<double>(soon[i]);
    if (!(again[i] > 0) || !(bytes[i] > 0)) return (1 - trust) * own;
    return (1 - trust) * own + trust * static_cast<double>(again[i]) *
                                   all_soon / static_cast<double>(bytes[i]);
  }

  void resize(std::size_t objects) {
    for (auto* one : {&soon, &life, &bytes, &again}) one->resize(objects);
    fast.resize(objects);
  }
};

}  // namespace thermocline
