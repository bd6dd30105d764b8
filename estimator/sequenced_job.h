// SequencedJob: a job's accesses in sequence, and how they are made.
//
// Samples say how much of what a job does, sequences in which order. So what a
// class takes, and sends back, is known of its samples, those included that
// were put back for what prefetchers hid (streams.h), and shared out here among
// the accesses that sequences have of it.
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "estimator/machine.h"
#include "estimator/sequence_fit.h"
#include "estimator/shape_fit.h"

namespace thermocline {

struct SequencedJob {
  std::vector<OrderedSequence> sequences;  // of the slow run
  std::vector<AccessShape> shapes;         // by class, fitted
  // By class: what a miss takes of a sample's time.
  std::vector<double> of_sample;
};

/// Nothing where the slow run has too few sequences to tell. `times` and
/// `of_sample` (classes) are of its samples.
std::optional<SequencedJob> learn_sequences(
    const Trace& slow, const AccessClasses& classes,
    std::span<const ClassTimes> times, std::span<const std::uint32_t> of_sample,
    const Machine& machine);

}  // namespace thermocline
