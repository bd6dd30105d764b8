// Usage: what this process itself has cost so far.
#pragma once

#include "traces/types.h"

namespace thermocline {

struct Usage {
  double cpu_s = 0;      // user and system, all threads
  double elapsed_s = 0;  // since the first call of own_usage()
  Bytes peak_bytes = 0;  // largest resident size
  double share() const { return elapsed_s > 0 ? cpu_s / elapsed_s : 0; }
};

/// Call once at the start: elapsed time counts from there.
Usage own_usage();

}  // namespace thermocline
