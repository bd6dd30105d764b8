// open_perf: live sampling through perf_event_open.
//
// Every thread that the process has is sampled, and those that it will start
// (with SamplingTarget::children also those of processes that it forks), or all
// that runs in a cgroup; samples go through one ring buffer per CPU. Times are
// CLOCK_MONOTONIC. Periods are changed to keep the cost within a budget
// (sampling_budget.h); each sample carries the period in force, and each change
// is told in SampleBatch::periods.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "tracer/perf_events.h"
#include "tracer/perf_ring_set.h"
#include "tracer/sampler.h"
#include "tracer/sequence_source.h"

namespace thermocline {

/// Starts sampling `events` in `target`. `share`: of a core, that it may cost.
/// `sequences`: with these also accesses in a row, of the threads of a process
/// (not of its children), which get half of the share; where the kernel refuses
/// them, there are none.
/// A process's sampler ends with the process, a cgroup's never. Errors:
/// kNotFound when there is no such process or cgroup, kPermission naming the
/// setting or capability, kUnsupported when the kernel or machine cannot
/// sample an event, kIo.
Result<std::unique_ptr<Sampler>> open_perf(
    std::span<const PerfEvent> events, const SamplingTarget& target,
    double share, std::optional<SequenceEvents> sequences = std::nullopt);

}  // namespace thermocline
