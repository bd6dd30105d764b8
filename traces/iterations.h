// Iterations: where the repetitions of a job begin.
//
// By the job's own marks ("step 3"), where there are any. Else by its
// operators: the operator that comes back at a steady distance. Every operator
// has a signature (name, layer, phase, and the sizes of what it reads and
// writes); of the signatures whose distances, counted in operators, are nearly
// all the same, the one that comes back soonest marks the iteration. Where
// distances vary (sentences of any length), the end of a backward phase does.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "traces/trace.h"

namespace thermocline {

struct Iterations {
  std::string by;             // "marks", "repetition", "backward", or empty
  std::vector<Nanos> starts;  // ascending; empty when none were found
};

/// Requires: the trace is sorted. Cost: O(n log n) in operators.
Iterations find_iterations(const Trace& trace);

}  // namespace thermocline
