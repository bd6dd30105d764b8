// perf_events: hardware events by name, and which to sample by default.
//
// Names are libpfm4's ("MEM_INST_RETIRED:ALL_STORES", "page-faults"); this is
// the only file that knows it, for its headers cannot meet the kernel's in one
// file. Periods are primes, so that no loop runs in step with them.
//
// Thread safety: pure but for libpfm's own start-up, which is done once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct PerfEvent {
  std::string name;
  std::uint32_t type = 0;  // as in struct perf_event_attr
  std::uint64_t config = 0;
  std::uint64_t config1 = 0;
  std::uint64_t config2 = 0;
  std::uint64_t period = 1;
  int precise = 0;        // wanted precise_ip; less is taken if it must be
  bool any_mode = false;  // cannot leave the kernel out (AMD's IBS)
  std::uint64_t auxiliary = 0;  // event that must lead its group; 0: none
};

// Where the machine tells of itself; tests give a recorded tree.
struct PerfPlace {
  std::string cpuinfo = "/proc/cpuinfo";
  std::string devices = "/sys/bus/event_source/devices";
};

/// The events of `list`: names separated by commas, each with "@PERIOD" if it
/// is not to have its default; an empty list stands for this processor's loads
/// with latency and stores. Errors: kInvalid for a name that this processor
/// does not have, kUnsupported where there is no PMU.
Result<std::vector<PerfEvent>> perf_events(const std::string& list,
                                           const PerfPlace& place);

}  // namespace thermocline
