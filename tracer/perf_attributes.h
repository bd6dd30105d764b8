// What the kernel is asked for when an event is to be sampled, and what can be
// done without.
//
// Thread safety: pure.
#pragma once

#include <linux/perf_event.h>

#include "tracer/perf_events.h"

namespace thermocline {

// PERF_FORMAT_LOST, since Linux 6.0: newer than the header may be.
inline constexpr std::uint64_t kPerfFormatLost = 1u << 4;

/// All that we would have: address and physical address, data source, weight,
/// time and thread of every sample, losses on reading the event.
perf_event_attr sampling_attributes(const PerfEvent& event,
                                    std::uint64_t period);

/// What leads the group of an event that needs an auxiliary one: it counts and
/// never samples, so it must not be precise.
perf_event_attr auxiliary_attributes(const perf_event_attr& attr,
                                     std::uint64_t config);

/// Takes away what made the kernel answer `error` to `attr`, one thing at a
/// time: physical addresses where they are not allowed; precision, step by
/// step, down to the event's least; then what older kernels lack, newest
/// first, each time from full precision. Returns: false when nothing is left
/// that could help.
bool degrade(perf_event_attr& attr, const PerfEvent& event, int error);

}  // namespace thermocline
