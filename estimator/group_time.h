// Group time: how long a few samples in a row take together when some of them
// lie in slow and some in fast memory.
//
// Alone, each sample costs what its kind cost in the run that was all slow or
// all fast. Together they take neither the sum nor the longest:
// - Two links carry more than one. A group takes as long as the busier link
//   (and somewhat more, where both are busy), so a mix may beat both endpoints.
// - What is waited for (a miss that no prefetcher hid) takes its latency on an
//   idle link, shared with those in flight beside it, and its queueing.
// - Queueing shrinks with the lines on that link. What a burst queues behind
//   itself goes with its share of the link; what queues because the link is
//   full goes with lines / (time - lines), as queues do. How much is which is
//   told by how busy the link was in the run that had it all.
// - A core retires in order: of several misses in flight, the slowest holds up
//   the others. With a share x of a kind in slow memory and n in flight, as
//   many wait for slow memory as if it were 1 - (1 - x)^((n + 1) / 2).
// What this leaves unexplained of either endpoint is made up for in proportion,
// so endpoints stay exact. A sequential kind waits only as far as its link is
// idle: of a full link nobody can tell latency.
//
// Thread safety: a pure function. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <span>

namespace thermocline {

// What one sample of a kind takes in a tier.
struct TierTime {
  double ns = 0;        // of the run
  double link_ns = 0;   // for which its lines hold the tier's link
  double wait_ns = 0;   // for which it is waited for on an idle link
  double queue_ns = 0;  // and on the link as it was
};

// Samples that are alike: a class of accesses (access_classes.h).
struct SampleKind {
  TierTime slow;
  TierTime fast;
  bool sequential = false;
  double in_flight = 1;  // accesses at once
};

// So many samples of a kind lie in slow memory, and so many in fast.
struct PlacedKind {
  std::uint32_t kind = 0;
  std::uint32_t slow = 0;
  std::uint32_t fast = 0;
};

/// By how much the group takes less than the sum of its samples (more:
/// negative). `slow_scale` and `fast_scale` make of the kinds' mean times those
/// of this part of the job. 0 where all samples lie in one tier.
double group_saves(std::span<const SampleKind> kinds,
                   std::span<const PlacedKind> group, double slow_scale,
                   double fast_scale);

}  // namespace thermocline
