// perf_events: hardware events by name, and which to sample by default.
//
// Names are libpfm4's ("MEM_INST_RETIRED:ALL_STORES", "page-faults"), the
// kernel's for this processor ("mem-loads", a file in sysfs), "ibs_op" (AMD),
// and "mem:0xADDRESS[/LENGTH][:w|:rw]" (a breakpoint on data: every access to
// up to 8 bytes, on a machine of any kind).
//
// Thread safety: none; libpfm is started for each call and left again, so that
// what steers it (LIBPFM_FORCE_PMU) may change between calls.
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
  std::uint32_t breakpoint = 0;    // bp_type; 0: none
  std::uint64_t period = 1;        // to begin with
  std::uint64_t least_period = 1;  // it never gets shorter than this
  std::uint64_t period_step = 1;   // the hardware takes multiples only
  int precise = 0;                 // wanted precise_ip; less may be taken,
  int least_precise = 0;  // but not below this: samples had no address then
  bool any_mode = false;  // cannot leave the kernel out (AMD's IBS)
  std::uint64_t auxiliary = 0;  // event that must lead its group; 0: none
};

// Where the machine tells of itself; tests give a recorded tree.
struct PerfPlace {
  std::string cpuinfo = "/proc/cpuinfo";
  std::string devices = "/sys/bus/event_source/devices";
};

/// The events of `list`: names separated by commas, each with "@PERIOD" if it
/// is not to have its default (that is then its least period, too); an empty
/// list stands for this processor's loads with latency and stores. Errors:
/// kInvalid for a name that this processor does not have, kUnsupported where
/// there is no PMU that samples precisely.
Result<std::vector<PerfEvent>> perf_events(const std::string& list,
                                           const PerfPlace& place);

/// "Intel Icelake": the processor as libpfm knows it, or empty.
std::string pmu_model();

}  // namespace thermocline
