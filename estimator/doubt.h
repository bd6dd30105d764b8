// Doubt: how far may an estimate be off?
//
// Nothing of it is known from runs under the placement asked for. It is judged
// by what the two traces themselves leave open, as if each of these could be
// wrong by its full size and none knew of the others:
//   runs      the two traces, each alone, would give different estimates;
//   costs     so would taking every access to cost the same; how far ours is
//             from there rests on the solved costs (class_costs.h), and these
//             on priors where the trace has little evidence;
//   savings   time that the placement is taken to save (savings.h);
//   chance    an object's samples are few;
//   mixing    however well the figures agree, what a mix does beyond them.
// The root of the sum of their squares, times a factor that was calibrated on
// the emulated machine's workloads (tests/bench/estimator_accuracy, which
// prints how often the truth lies inside), is the error bar: it holds the truth
// in nine of ten of their placements. Other programs' may be held less often
// (README.md has the figures). At both endpoints every term is 0: they were
// measured.
//
// Thread safety: const after construction. Units: nanoseconds. Memory: 32 bytes
// an object.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace thermocline {

// What each object gains in fast memory: as the slow trace alone, the fast
// trace alone has it, and if all accesses cost the same.
struct ObjectEvidence {
  double slow_ns = 0;
  double fast_ns = 0;
  double alike_ns = 0;
  double samples = 0;  // of both traces
};

class Doubt {
 public:
  struct Terms {
    double runs = 0;
    double costs = 0;
    double savings = 0;
    double chance = 0;
    double mixing = 0;
  };

  Doubt() = default;
  /// `known`: whether costs were solved by class; else all accesses were taken
  /// to cost the same, and there is nothing to hold this against.
  Doubt(std::vector<ObjectEvidence> objects, double gain_ns, bool known)
      : objects_(std::move(objects)), gain_ns_(gain_ns), known_(known) {}

  /// `slow`: how far each object is in slow memory, 0 to 1. Requires: as many
  /// as objects.
  Terms terms(std::span<const double> slow, double saved_ns) const;
  /// Half of the interval's width, around the estimate.
  double error_ns(std::span<const double> slow, double saved_ns) const;

 private:
  std::vector<ObjectEvidence> objects_;
  double gain_ns_ = 0;  // of the job, all objects fast against all slow
  bool known_ = true;
};

}  // namespace thermocline
