#include "training/parameters/adarevision.h"

#include <algorithm>
#include <cmath>

namespace thermocline {

AdaRevision::AdaRevision(std::size_t columns, float step)
    : step_(step), sum_(columns, 0), z_(columns, 1), most_(columns, 1) {}

void AdaRevision::apply(std::span<const float> gradient,
                        std::span<const float> seen,
                        std::span<float> parameters) {
  CHECK(gradient.size() == sum_.size() && seen.size() == sum_.size() &&
        parameters.size() == sum_.size());
  for (std::size_t k = 0; k < gradient.size(); ++k) {
    const float g = gradient[k];
    const float meanwhile = sum_[k] - seen[k];
    const float before = step_ / std::sqrt(most_[k]);
    z_[k] += g * (g + 2 * meanwhile);
    most_[k] = std::max(most_[k], z_[k]);
    const float after = step_ / std::sqrt(most_[k]);
    parameters[k] += (before - after) * meanwhile - after * g;
    sum_[k] += g;
  }
}

}  // namespace thermocline
