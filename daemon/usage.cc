#include "daemon/usage.h"

#include <sys/resource.h>

#include <chrono>

namespace thermocline {

Usage own_usage() {
  using Clock = std::chrono::steady_clock;
  static const auto began = Clock::now();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  Usage out;
  out.cpu_s = seconds(used.ru_utime) + seconds(used.ru_stime);
  out.elapsed_s = std::chrono::duration<double>(Clock::now() - began).count();
  out.peak_bytes = static_cast<Bytes>(used.ru_maxrss) * 1024;
  return out;
}

}  // namespace thermocline
