// A wave: operators that are ready at the same time, run by all ranks.
//
// Every rank makes the same plan, by expected load, and begins with its own
// queue. Who has done its own takes from the rank with most left. A queue is a
// counter that says how many of it are taken: taking, one's own or another's,
// is one atomic addition, and no rank has to answer. Each operator runs once,
// wherever; an operator that is a function of its inputs has the same result.
//
// Thread safety: plan and simulation are pure; run_wave is collective. Source:
// the proposal of dynamic scheduling in Wei's thesis proposal (CMU, 2018),
// which was not built there; the algorithm is ours (longest first, then
// stealing).
#pragma once

#include <functional>
#include <vector>

#include "training/ranks/ranks.h"

namespace thermocline {

// For each rank, the operators of its queue in the order in which they run.
using WavePlan = std::vector<std::vector<std::size_t>>;

/// Longest first, each to the rank with least to do. Ties: the lower number.
WavePlan plan_wave(const std::vector<double>& expected, int ranks);

/// When the last rank is done, if operators take the actual seconds and each
/// taking `take_seconds`. Without stealing: a static assignment.
double simulate_wave(const WavePlan& plan, const std::vector<double>& expected,
                     const std::vector<double>& actual, bool steal,
                     double take_seconds = 0);

struct WaveStats {
  std::int64_t ran = 0;
  std::int64_t taken_from_others = 0;
  double busy_seconds = 0;
};

class Wave {
 public:
  /// All ranks together.
  static Result<Wave> make(Ranks& ranks);

  /// Runs each operator on exactly one rank. All ranks pass the same expected
  /// loads; `run` may use anything but this wave. Errors: of barriers.
  Result<WaveStats> run(const std::vector<double>& expected,
                        const std::function<void(std::size_t)>& run);

 private:
  Ranks* ranks_ = nullptr;
  std::unique_ptr<Window> taken_;  // two counters a rank
  bool even_ = true;
};

}  // namespace thermocline
