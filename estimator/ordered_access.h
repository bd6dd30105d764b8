// OrderedAccess: what a core run needs of the accesses that a trace has in
// sequence (traces/access_sequence.h).
//
// Thread safety: plain values, a pure function.
#pragma once

#include <vector>

#include "estimator/access_classes.h"
#include "traces/trace.h"

namespace thermocline {

/// Whether all that it does is to write a line that another access brought.
inline bool writes_only(const SequencedAccess& access) {
  return access.access == Access::kStore && access.source == Source::kL1;
}

/// The number of the line that it is in.
inline Address line_of(Address address) { return address / 64; }

struct OrderedAccess {
  Address address = 0;
  float instructions = 0;  // executed since the one before
  std::uint16_t kind = 0;  // its class
  bool missed = true;      // false: a prefetcher was in time
  bool written = false;    // later on, by a store that hit
  // Of the first line of a stream that was under way: how many lines of its
  // page came before the sequence; below 0: downward. 0: it is none.
  std::int8_t under_way = 0;
};

struct OrderedSequence {
  Nanos time = 0;
  std::vector<OrderedAccess> accesses;
};

/// The sequences of a trace, in order of time, without stores that only write
/// what others brought. A sequence is run round and
/// round: before its first access as much is executed as before the others, on
/// average.
std::vector<OrderedSequence> ordered_sequences(const Trace& trace,
                                               const AccessClasses& classes);

}  // namespace thermocline
