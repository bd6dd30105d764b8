// interrupt_cost: what taking one sample costs the job.
//
// No process is charged for the interrupts that sampling makes, so nobody's
// CPU clock shows them. The kernel times them, though: it allows them
// kernel.perf_cpu_time_max_percent of a CPU at
// kernel.perf_event_max_sample_rate and, once they take longer on average,
// lowers that rate to what fits with a quarter to spare
// (perf_sample_event_took() in kernel/events/core.c). So from the two settings
// follows what it has measured, or, as long as it had nothing to lower, what it
// takes for granted: 25 % / 100,000 / 1.25 = 2 us.
//
// Thread safety: pure but for reading files below a root.
#pragma once

#include <string>

#include "traces/types.h"

namespace thermocline {

// Where the kernel does not say, and the least that is believed: a rate that
// was raised by hand says nothing.
inline constexpr Nanos kInterruptNs = 2'000;

/// Of one sample, by the settings of the kernel whose "/" is `root`; a rate
/// that was lowered by hand makes it look dearer than it is.
Nanos interrupt_ns(const std::string& root);

}  // namespace thermocline
