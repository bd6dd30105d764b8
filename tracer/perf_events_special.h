// Events that libpfm does not know: AMD's IBS, breakpoints on data, and those
// that the kernel itself describes for this processor.
//
// Thread safety: pure but for reading sysfs.
#pragma once

#include <optional>

#include "tracer/perf_events.h"

namespace thermocline {

/// The event of that name, or nothing when it is no such event. Errors:
/// kInvalid for a bad address, kUnsupported where the PMU is not there.
Result<std::optional<PerfEvent>> special_event(const std::string& name,
                                               const PerfPlace& place);

/// Makes `event`, one of the processor's own, precise and gives it the period
/// it is to begin with. Errors: kUnsupported where nothing is precise.
Status make_precise(PerfEvent& event, const PerfPlace& place);

/// True when sysfs has this file below the place's event sources.
bool has_device_file(const PerfPlace& place, const std::string& path);

/// What to say where there is no PMU.
Error no_pmu(const std::string& why);

}  // namespace thermocline
