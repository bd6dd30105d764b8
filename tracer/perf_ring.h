// open_perf: live sampling of a process through perf_event_open.
//
// Every thread that the process has is sampled, and those that it will start;
// samples go through one ring buffer per CPU. Times are CLOCK_MONOTONIC.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tracer/perf_events.h"
#include "tracer/sampler.h"

namespace thermocline {

/// Starts sampling `events` in process `pid`. Errors: kNotFound when there is
/// no such process, kPermission naming the setting or capability, kUnsupported
/// when the kernel or machine cannot sample an event, kIo.
Result<std::unique_ptr<Sampler>> open_perf(std::span<const PerfEvent> events,
                                           int pid);

}  // namespace thermocline
