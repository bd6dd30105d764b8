#include "tracer/interrupt_cost.h"

#include <algorithm>
#include <fstream>

namespace thermocline {

Nanos interrupt_ns(const std::string& root) {
  const auto setting = [&root](const char* name) {
    std::ifstream in(root + "/proc/sys/kernel/" + name);
    double value = 0;
    in >> value;
    return value;
  };
  const double percent = setting("perf_cpu_time_max_percent");
  const double rate = setting("perf_event_max_sample_rate");
  // 0 and 100 per cent: the kernel does not look at them.
  if (!(percent > 0 && percent < 100 && rate >= 1)) return kInterruptNs;
  constexpr double kSpare = 1.25;
  const double each = percent / 100 * 1e9 / rate / kSpare;
  return std::max(kInterruptNs, static_cast<Nanos>(each));
}

}  // namespace thermocline
