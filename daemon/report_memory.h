// How much memory a job held and touched, over its run.
//
// Thread safety: pure function, plain values. Units: bytes; one entry a bin.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "daemon/report_bins.h"

namespace thermocline {

struct MemoryOverTime {
  // Of tensors: the most that lived at any instant of the bin. Empty where the
  // trace has none.
  std::vector<Bytes> live;
  // Pages that samples of this bin touched, and that samples touched so far.
  // What no sample hit is in neither. Empty where there are no samples.
  std::vector<Bytes> touched;
  std::vector<Bytes> footprint;
};

/// Requires: the trace is sorted. Cost: O(samples + tensors log tensors).
MemoryOverTime memory_over_time(const Trace& trace, const TimeBins& bins);

nlohmann::ordered_json to_json(const MemoryOverTime& memory);

}  // namespace thermocline
