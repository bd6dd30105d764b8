// TimeBins: the time axis of a report, cut into equal parts.
//
// A page cannot show a million instants; what falls into one part is added up,
// or its most is taken, as each list says. Thread safety: plain value.
#pragma once

#include <algorithm>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct TimeBins {
  // More than a screen can tell apart makes a page heavy and shows no more.
  static constexpr std::size_t kMost = 300;

  Nanos start = 0;
  double width_ns = 1;
  std::size_t count = 1;

  /// From the job's first instant to its last; never empty.
  static TimeBins of(const Trace& trace, std::size_t most = kMost) {
    TimeBins out;
    out.start = trace.start_ns();
    const Nanos length = std::max<Nanos>(1, trace.run_ns());
    out.count = static_cast<std::size_t>(
        std::min(length, static_cast<Nanos>(std::max<std::size_t>(1, most))));
    out.width_ns = static_cast<double>(length) / static_cast<double>(out.count);
    return out;
  }
  /// What lies before the start or after the end counts in the first or last.
  std::size_t of(Nanos time) const {
    const double at = static_cast<double>(time - start) / width_ns;
    if (!(at > 0)) return 0;
    return std::min(count - 1, static_cast<std::size_t>(at));
  }
  /// Adds an amount that came evenly from one instant to another; what lies
  /// outside counts in the first or last. Requires: cells.size() == count.
  void spread(Nanos from, Nanos to, double amount,
              std::vector<double>& cells) const {
    const std::size_t first = of(from);
    const std::size_t last = of(to);
    if (first >= last) {
      cells[last] += amount;
      return;
    }
    const double per_ns = amount / static_cast<double>(to - from);
    auto left = static_cast<double>(from - start);
    for (std::size_t b = first; b <= last; ++b) {
      const double right = b < last ? width_ns * static_cast<double>(b + 1)
                                    : static_cast<double>(to - start);
      cells[b] += per_ns * (right - left);
      left = right;
    }
  }
};

}  // namespace thermocline
