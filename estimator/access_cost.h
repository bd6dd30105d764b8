// AccessCost: what one access, or one move, costs in a tier, from the Machine
// alone.
//
// A load that misses is charged the larger of its transfer time (64 bytes at
// the tier's bandwidth) and its latency over kOverlap, for out-of-order cores
// keep several misses in flight; a store likewise, with write bandwidth and
// write latency. A modelled figure, used for the relative weight of loads and
// stores and where an endpoint was not measured.
//
// Thread safety: pure functions. Units: nanoseconds; an unknown latency or
// bandwidth (0) contributes nothing.
#pragma once

#include <vector>

#include "estimator/machine.h"

namespace thermocline {

inline constexpr double kLineBytes = 64;
// Misses in flight of ordinary code: between 1 (pointer chase) and 10 to 12
// (line-fill buffers of Intel cores).
inline constexpr double kOverlap = 4;
// The kernel's work to move one page without copying it: 0.25 to 0.6 us
// measured for move_pages on Linux 6.
inline constexpr double kPageMoveNs = 500;
// Loads that a core of today has in flight at most (line-fill buffers).
inline constexpr double kInFlight = 10;
// Assumed for a move where a tier's bandwidth is not known, bytes/s.
inline constexpr double kAssumedBandwidth = 2e9;

struct AccessCost {
  double load_ns = 0;
  double store_ns = 0;
};

/// Time that so many bytes take at a bandwidth; 0 where it is not known.
double transfer_ns(double bytes, double bytes_per_s);

/// Cost of one access to memory of this tier.
AccessCost access_cost(const Tier& tier);

/// How many loads a store counts for: the ratio of what each loses in the
/// slowest against the fastest tier. 1 when the machine does not say.
double store_weight(const Machine& machine);

/// Where each tier lies between fastest (0) and slowest (1), by load latency;
/// evenly where latencies are not known. A single tier lies at 0.
std::vector<double> slowness(const Machine& machine);

/// Time to move `bytes` in pages of `page_bytes`: reading at the source's
/// bandwidth, writing at the destination's, and the kernel's work a page.
double move_ns(const Machine& machine, Bytes bytes, Bytes page_bytes,
               TierId from, TierId to);

}  // namespace thermocline
