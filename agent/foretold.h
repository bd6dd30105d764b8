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

  void resize(std::size_t objects) {
    for (auto* one : {&soon, &life, &bytes}) one->resize(objects);
    fast.resize(objects);
  }
};

}  // namespace thermocline
