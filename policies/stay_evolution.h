// StayEvolution: learns on a recorded step which tensors are worth fast memory.
//
// What a tensor is worth beyond its characteristics hangs on all others that
// want the room at the same time, and no formula of heat has that. So each
// tensor gets a number of its own, and all numbers are learned by trying: one
// replayed step after another, some of them are drawn anew (mutation), and what
// makes the step faster stays (selection; a (1+1) evolution strategy after
// Rechenberg, 1973). Numbers of tensors that lose much in slow memory, or are
// large, are drawn more often, for they decide most. The weights of the
// characteristics, the share of memory to fill and the price of copies take
// part.
//
// Several settings to start with are tried side by side on a part of the
// trials; the best goes on alone. A winner is replayed for longer before it
// stays: where holes are differs from step to step, and luck would be learned.
//
// Thread safety: none. Deterministic, unless `go_on` cuts it short.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "policies/stay_trial.h"

namespace thermocline {

class StayEvolution {
 public:
  struct Outcome {
    StayTrial::Setting setting;
    StayTrial::Tried tried;  // replayed for longer
    std::size_t trials = 0;
  };

  /// `go_on`: asked before each trial. `so_far`: told of the plan that it
  /// is about to change. `trial` outlives it.
  StayEvolution(const StayTrial& trial, std::function<bool()> go_on,
                std::function<void(const StayTrial::Tried&)> so_far);

  /// Requires: at least one start. Errors: those of StayTrial, where none of
  /// the starts holds.
  Result<Outcome> run(const std::vector<StayTrial::Setting>& starts,
                      std::size_t trials);

 private:
  struct Being {
    StayTrial::Setting setting;
    double quick_ns = 0;     // cost in a trial
    StayTrial::Tried tried;  // for longer
  };
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t n) { return random_() % n; }
  std::size_t draw_tensor();
  bool mutate(StayTrial::Setting& setting);
  void advance(Being& being);

  const StayTrial& trial_;
  std::function<bool()> go_on_;
  std::function<void(const StayTrial::Tried&)> so_far_;
  std::mt19937_64 random_{1};
  std::vector<double> lost_;  // by tensor, of it and all before it, ns
};

}  // namespace thermocline
