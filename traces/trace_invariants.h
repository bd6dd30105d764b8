// restore_invariants: makes what a file holds into what a Trace promises.
//
// A file may be cut, or made by somebody else; consumers of a Trace need not
// be prepared for that. Thread safety: pure.
#pragma once

#include <cstdint>

#include "traces/trace.h"

namespace thermocline {

/// Sorts the trace, makes one of the tensors of each serial (the first; its
/// death may come from a later one that is otherwise the same), and removes
/// reads and writes of tensors that are not there. Returns how many tensors
/// that contradict the first, reads and writes were removed.
/// Cost: O(n log n).
std::uint64_t restore_invariants(Trace& trace);

}  // namespace thermocline
