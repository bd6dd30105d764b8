#include "estimator/class_work.h"

#include <algorithm>

#include "estimator/counter_readings.h"

namespace thermocline {

std::vector<ClassWork> class_work(const Trace& trace,
                                  std::span<const std::uint32_t> of_sample,
                                  std::size_t classes, double cycles_per_ns) {
  std::vector<ClassWork> work(classes);
  std::vector<double> seen(classes, 0), here(classes);
  for (const auto& one : counter_readings(trace, 1)) {
    std::fill(here.begin(), here.end(), 0);
    double accesses = 0;
    for (std::size_t s = one.first; s < one.last; ++s) {
      here[of_sample[s]] += 1;
      accesses += std::max(trace.samples[s].period, 1U);
    }
    const double busy = std::max(0.0, one.cycles - one.stall_cycles);
    for (std::size_t c = 0; c < classes; ++c) {
      work[c].ns += here[c] * busy / cycles_per_ns / accesses;
      work[c].instructions += here[c] * one.instructions / accesses;
      seen[c] += here[c];
    }
  }
  for (std::size_t c = 0; c < classes; ++c) {
    if (seen[c] <= 0) continue;
    work[c].ns /= seen[c];
    work[c].instructions /= seen[c];
  }
  return work;
}

}  // namespace thermocline
