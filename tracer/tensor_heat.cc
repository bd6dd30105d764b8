#include "tracer/tensor_heat.h"

#include <cmath>

namespace thermocline {
namespace {

// 0..1, by orders of magnitude: a tensor used 8 times is to one used 4 times
// as 4 is to 2.
double share(double value, double most) {
  if (most <= 0) return 0;
  return std::clamp(std::log1p(value) / std::log1p(most), 0.0, 1.0);
}

}  // namespace

TensorHeat::TensorHeat(
    const Options& options,
    const std::unordered_map<TensorHabits::Key, Habit>& habits,
    double step_operators)
    : options_(options), step_operators_(step_operators) {
  for (const auto& [key, habit] : habits) {
    most_accesses_ = std::max(most_accesses_, accesses(habit));
    most_bytes_ = std::max(most_bytes_, static_cast<double>(habit.bytes));
  }
  std::array<bool, 2> first{true, true};
  for (const auto& [key, habit] : habits) {
    const std::size_t on = habit.lives_on;
    heats_[on].see(heat(habit), first[on]);
    distances_[on].see(std::log1p(habit.distance), first[on]);
    first[on] = false;
  }
}

double TensorHeat::accesses(const Habit& habit) const {
  return habit.reads + options_.weights.write_worth * habit.writes;
}

double TensorHeat::heat(const Habit& habit) const {
  const auto& weigh = options_.weights;
  return weigh.accesses * share(accesses(habit), most_accesses_) +
         weigh.distance * (1 - share(habit.distance, step_operators_)) +
         weigh.lifetime * (1 - share(habit.lifetime, step_operators_)) +
         weigh.size *
             (1 - share(static_cast<double>(habit.bytes), most_bytes_));
}

std::size_t TensorHeat::Range::part(double value, std::size_t parts) const {
  if (!(high > low)) return 0;
  const double at = std::clamp((value - low) / (high - low), 0.0, 1.0);
  return std::min(parts - 1,
                  static_cast<std::size_t>(at * static_cast<double>(parts)));
}

std::size_t TensorHeat::class_of(const Habit& habit) const {
  const std::size_t on = habit.lives_on;
  const auto hot = heats_[on].part(heat(habit), options_.heat_parts);
  const auto far =
      distances_[on].part(std::log1p(habit.distance), options_.distance_parts);
  return (on * options_.heat_parts + hot) * options_.distance_parts + far;
}

}  // namespace thermocline
