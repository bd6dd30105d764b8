#include "estimator/held_squares.h"

#include <algorithm>

namespace thermocline {

std::vector<double> held_squares(const std::vector<std::vector<double>>& a,
                                 const std::vector<double>& b,
                                 const std::vector<double>& expected,
                                 const std::vector<double>& hold, int sweeps,
                                 const std::vector<double>& most) {
  std::vector<double> out = expected;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (a[i][i] <= 0) continue;
      double rest = b[i] + hold[i] * expected[i];
      for (std::size_t j = 0; j < out.size(); ++j) {
        if (j != i) rest -= a[i][j] * out[j];
      }
      out[i] = std::max(0.0, rest / (a[i][i] + hold[i]));
      if (!most.empty()) out[i] = std::min(out[i], most[i]);
    }
  }
  return out;
}

}  // namespace thermocline
