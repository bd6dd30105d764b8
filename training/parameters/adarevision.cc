#include "training/parameters/adarevision.h"

#include <algorithm>
#include <cmath>

namespace thermocline {

void revise(float step, std::span<const float> gradient,
            std::span<const float> seen, std::span<float> parameters,
            const RevisionState& state) {
  const std::size_t n = gradient.size();
  CHECK(seen.size() == n && parameters.size() == n && state.sum.size() == n &&
        state.z.size() == n && state.most.size() == n);
  for (std::size_t k = 0; k < n; ++k) {
    const float g = gradient[k];
    const float meanwhile = state.sum[k] - seen[k];
    const float before = step / std::sqrt(state.most[k]);
    state.z[k] += g * (g + 2 * meanwhile);
    state.most[k] = std::max(state.most[k], state.z[k]);
    const float after = step / std::sqrt(state.most[k]);
    parameters[k] += (before - after) * meanwhile - after * g;
    state.sum[k] += g;
  }
}

AdaRevision::AdaRevision(std::size_t columns, float step)
    : step_(step), sum_(columns, 0), z_(columns, 1), most_(columns, 1) {}

void AdaRevision::apply(std::span<const float> gradient,
                        std::span<const float> seen,
                        std::span<float> parameters) {
  revise(step_, gradient, seen, parameters, {sum_, z_, most_});
}

}  // namespace thermocline
