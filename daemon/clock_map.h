// ClockMap: from this host's monotonic clock to a sample stream's clock.
//
// A sampler may run on a clock of its own (the emulated machine's virtual
// time). Pairs of instants, taken whenever samples arrive, tie the two
// together; between two pairs time is interpolated, before the first and
// after the last it runs at the rate of the nearest two, never past the
// newest instant that the stream has shown. With no pairs, or on a stream
// that is monotonic already, it is the identity.
//
// Thread safety: none. Memory: the last 1,024 pairs.
#pragma once

#include <deque>
#include <utility>

#include "traces/types.h"

namespace thermocline {

class ClockMap {
 public:
  /// The stream showed `stream` when the monotonic clock showed `monotonic`.
  /// Pairs that do not advance both clocks are dropped.
  void add(Nanos monotonic, Nanos stream);
  Nanos to_stream(Nanos monotonic) const;
  bool empty() const { return pairs_.empty(); }

 private:
  std::deque<std::pair<Nanos, Nanos>> pairs_;
};

}  // namespace thermocline
