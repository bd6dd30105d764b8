// Class shapes: what is known of how accesses of a class are made, before
// anything is fitted.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/access_classes.h"
#include "estimator/access_shape.h"
#include "estimator/machine.h"
#include "traces/trace.h"

namespace thermocline {

/// By class: what its lines take of each tier's link, what the machine says of
/// its latency, and what counters say of computing around its samples
/// (`of_sample`, by sample of the trace).
std::vector<AccessShape> class_shapes(std::span<const AccessClass> classes,
                                      const Trace& trace,
                                      std::span<const std::uint32_t> of_sample,
                                      const Machine& machine);

}  // namespace thermocline
