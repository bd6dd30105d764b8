// TensorHeat: how much a tensor deserves fast memory, out of its habit, and
// which tensors are alike enough to share pages.
//
// After DeepTM (Zhou and others, TPDS 2024): heat is a weighted sum of four
// characteristics of a tensor. Which four, and how they are weighed, its
// abstract does not say; we chose accesses, reuse distance, lifetime and size,
// each brought to 0..1 over all that is known: many accesses, near reuse, a
// short life and few bytes are hot. Writes weigh more than reads: of AutoTM's
// kernels on Optane, results in slow memory cost 3.8 times the time and inputs
// 1.4 times (ASPLOS 2020); CXL memory is more even.
//
// The weights come with the job's settings. Whoever learns better ones (the
// daemon's agent) hands them to the next run there.
//
// Classes: heat and reuse distance (its logarithm) are each cut into equal
// parts between the least and the greatest seen, apart for what dies within an
// iteration and what lives on.
//
// Thread safety: const members from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>

#include "tracer/tensor_habits.h"

namespace thermocline {

// The sum of the first four need not be 1.
struct HeatWeights {
  double accesses = 0.4;
  double distance = 0.3;
  double lifetime = 0.2;
  double size = 0.1;
  double write_worth = 3;  // of a write, in reads
};

class TensorHeat {
 public:
  struct Options {
    HeatWeights weights;
    std::size_t heat_parts = 4;
    std::size_t distance_parts = 2;
  };
  TensorHeat() = default;
  /// Learns the ranges of all habits; step_operators as in TensorHabits.
  TensorHeat(const Options& options,
             const std::unordered_map<TensorHabits::Key, Habit>& habits,
             double step_operators);

  /// 0 to the sum of the weights.
  double heat(const Habit& habit) const;
  /// Below classes(options).
  std::size_t class_of(const Habit& habit) const;
  static std::size_t classes(const Options& options) {
    return 2 * options.heat_parts * options.distance_parts;
  }

 private:
  struct Range {
    double low = 0;
    double high = 0;
    void see(double value, bool first) {
      low = first ? value : std::min(low, value);
      high = first ? value : std::max(high, value);
    }
    std::size_t part(double value, std::size_t parts) const;
  };
  double accesses(const Habit& habit) const;

  Options options_;
  double step_operators_ = 1;
  double most_accesses_ = 0;
  double most_bytes_ = 1;
  std::array<Range, 2> heats_;  // of what dies soon, and of what lives on
  std::array<Range, 2> distances_;
};

}  // namespace thermocline
