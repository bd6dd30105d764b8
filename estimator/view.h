// View and Move: what is known of a job's memory at the end of a window, and
// what may be done about it.
//
// A policy maps a View to Moves; the learning environment builds the very
// same View from traces, so that what an agent learned offline holds for the
// daemon. These words lie below both.
//
// Thread safety: plain values; a View borrows its spans.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "traces/types.h"

namespace thermocline {

inline constexpr ObjectId kNoObject = std::numeric_limits<ObjectId>::max();

// One object as it stands at the end of a window. Accesses are estimated
// counts (samples times period) in this window alone. In an order without gaps:
// a policy reads all of them in every window.
struct ObjectView {
  ObjectId id = 0;  // index into View::objects
  // The object whose memory begins where this one's ends; kNoObject: none, or
  // nobody knows.
  ObjectId after = kNoObject;
  Bytes bytes = 0;  // resident bytes; 0: nothing to place now
  double loads = 0;
  double stores = 0;
  TierId tier = 0;      // where most of its bytes lie
  bool movable = true;  // false: pinned, bound by the job, or refused lately
  // Cycles that the core waited for these accesses (Sample::retire_latency). 0
  // for all objects: the processor does not tell.
  double waited = 0;
};

// A tier as this target may use it.
struct TierView {
  Bytes capacity = 0;  // bytes this target may have here
  Bytes used = 0;      // bytes of its objects that lie here
  double read_ns = 0;  // as in Machine
  double write_ns = 0;
  double read_bytes_per_s = 0;
  double write_bytes_per_s = 0;
};

struct View {
  std::int64_t window = 0;  // 0, 1, 2, ... of this target
  Nanos window_ns = 0;      // length of the window
  Bytes budget = 0;         // bytes that may be moved before the next window
  std::span<const ObjectView> objects;  // objects[i].id == i; may grow
  std::span<const TierView> tiers;      // fastest first
  // What moving took in the window before, in time per byte; 0: nothing was
  // moved then, or nobody measured it.
  double move_ns_per_byte = 0;
  // Regions that lie in one huge page move as one, and are one of `objects`, by
  // the number of the first; the others are there without bytes. Here each is
  // what it is by itself, and whole[i] the object that i is a part of. Both are
  // empty where no object has parts.
  std::span<const ObjectView> parts = {};
  std::span<const ObjectId> whole = {};
};

struct Move {
  ObjectId object = 0;
  TierId from = 0;
  TierId to = 0;
  bool operator==(const Move&) const = default;
};

}  // namespace thermocline
