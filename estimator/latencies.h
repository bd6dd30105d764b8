// Latencies: how long loads of a kind waited, on average and how unevenly.
//
// Thread safety: a plain value. Units: nanoseconds.
#pragma once

#include <algorithm>
#include <cmath>

namespace thermocline {

struct Latencies {
  double sum = 0;
  double squares = 0;
  double count = 0;

  void add(double ns) {
    sum += ns;
    squares += ns * ns;
    count += 1;
  }
  /// 0 where there are none.
  double mean() const { return count > 0 ? sum / count : 0; }
  double deviation() const {
    if (count <= 0) return 0;
    return std::sqrt(std::max(0.0, squares / count - mean() * mean()));
  }
};

}  // namespace thermocline
