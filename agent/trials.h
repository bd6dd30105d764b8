// Trials: what a training is judged on.
//
// Every job whole, and the windows at its end that are never trained on, each
// at three capacities of the fastest tier. The bounds of the gap, first_touch
// and all_fast, do not change while a network learns, so they are played once.
//
// Thread safety: const methods from any thread, if the Scorer allows it.
#pragma once

#include <array>
#include <vector>

#include "agent/evaluation.h"

namespace thermocline {

/// Windows of a world that are trained on: all but the share at the end.
std::size_t trained_windows(const World& world, double holdout);

struct Trial {
  const World* world = nullptr;
  Episode episode = {};
  bool held_out = false;
  double first_touch_ns = -1;  // -1: not played yet
  double all_fast_ns = -1;
};

// What trials add up to; sums, so that workers can judge a part each.
struct Judged {
  // Shares of the all-slow time, in sum: [0] what the trials took, [1] how
  // many there were, [2] and [4] saved against first_touch, [3] and [5] the
  // gap, whole jobs first.
  std::array<double, 6> sums{};

  /// Mean share of the all-slow time: what training minimises.
  double time() const { return sums[0] / sums[1]; }
  /// Share of the first_touch -> all_fast gap that is closed, over all trials
  /// in sum; 0 where there is no gap to close.
  double gap_closed() const { return share(2); }
  double held_out() const { return share(4); }

 private:
  double share(std::size_t i) const {
    return sums[i + 1] > 0 ? sums[i] / sums[i + 1] : 0;
  }
};

class Trials {
 public:
  /// Requires: the worlds outlive it, where they are.
  Trials(const std::vector<World>& worlds, double holdout);

  const std::vector<Trial>& all() const { return all_; }
  /// Plays part `first` of `stride`; each takes about as long.
  Judged judge(const Scorer& scorer, const Packer& packer,
               std::size_t first = 0, std::size_t stride = 1);

 private:
  std::vector<Trial> all_;
};

}  // namespace thermocline
