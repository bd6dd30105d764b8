// SamplingBudget: how much longer periods must be for sampling to stay within
// its share of a processor core.
//
// A sample costs the job an interrupt, which nobody accounts for us, and us
// its decoding, which our own CPU clock shows. Both are weighed against the
// budget at the end of every interval: over it, periods grow at once by as
// much as it takes; below half of it for some time, they shrink by half.
// Samples that were lost, or events that the kernel throttled, count as over
// it. All events keep their proportions.
//
// Thread safety: none; plain values. Time is passed in.
#pragma once

#include <cstdint>

#include "traces/types.h"

namespace thermocline {

class SamplingBudget {
 public:
  struct Options {
    double share = 0.01;      // of one core
    double least_scale = 1;   // periods never get shorter than this
    Nanos sample_ns = 2'000;  // as sample_costs()
    Nanos interval_ns = 250'000'000;
  };

  SamplingBudget(Options options, Nanos now) : options_(options), began_(now) {}

  /// What the interrupt of one sample costs; see interrupt_cost.h.
  void sample_costs(Nanos each) { options_.sample_ns = each; }
  /// What was spent since the last call.
  void spend(std::uint64_t samples, Nanos cpu_ns);
  /// Samples were lost, or sampling was throttled.
  void fell_short() { short_ = true; }
  /// A change of periods took that much CPU time: no other change until that
  /// has been spread over enough intervals to fit the budget.
  void paid_for_change(Nanos cpu_ns, Nanos now);

  /// Ends the interval if it is over. Returns: true when scale() has changed.
  bool settle(Nanos now);
  /// By how much periods are longer than the first ones.
  double scale() const { return scale_; }
  /// Share of a core that the last whole interval took.
  double used() const { return used_; }

 private:
  double next_scale();

  Options options_;
  Nanos began_;
  Nanos held_until_ = 0;
  Nanos spent_ = 0;
  bool short_ = false;
  int quiet_ = 0;  // intervals in a row
  double scale_ = 1;
  double used_ = 0;
};

}  // namespace thermocline
