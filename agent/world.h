// World: a recorded job as the learning environment replays it.
//
// Plain numbers taken from a Differential: what every window did to every
// object, and what it costs. Tests build small ones by hand, where the best
// behaviour can be worked out exactly.
//
// Thread safety: plain values.
#pragma once

#include <string>
#include <vector>

#include "estimator/differential.h"
#include "estimator/machine.h"
#include "traces/types.h"

namespace thermocline {

struct World {
  struct Window {
    double slow_ns = 0;  // everything in the slowest tier
    double fast_ns = 0;
    std::vector<WindowAccess> accesses;  // ordered by object; costs sum to 1
    std::vector<ObjectWait> waits = {};  // likewise; empty: nobody told
  };
  std::string job;
  bool modelled = false;             // one endpoint was not measured
  std::vector<Tier> tiers;           // at least two, fastest first
  std::vector<double> slowness;      // by tier: 0 fastest to 1 slowest
  std::vector<double> move_ns_byte;  // [from * tiers + to]: a moved byte's cost
  std::vector<Bytes> bytes;          // by object
  std::vector<Window> windows;
  Bytes resident = 0;  // of the job at its peak, touched or not; 0: unknown
  double period = 1;   // accesses that one sample stands for, about

  static World from(const Differential& differential);

  double move_ns(Bytes size, TierId from, TierId to) const {
    return static_cast<double>(size) * move_ns_byte[from * tiers.size() + to];
  }
  /// The job, had it gone on in the same way for so many times as long: its
  /// windows again and again, with the same samples. Requires: times >= 1.
  World repeated(std::size_t times) const;

  double slow_ns() const;  // of all windows
  double fast_ns() const;
  /// Bytes of the objects with accesses.
  Bytes footprint() const;
  /// A hash of all of it: two equal worlds train equal agents.
  std::uint64_t fingerprint() const;
};

}  // namespace thermocline
