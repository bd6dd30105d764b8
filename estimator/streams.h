// Streams: which sample a sequential access goes on from, and what a
// prefetcher fetched between the two.
//
// A PMU samples misses, and a prefetcher makes most accesses of an array that
// is read in order hit. Their lines passed the link all the same, and cost the
// job what the link costs. So between two samples of a stream, its unseen lines
// are put back: as samples evenly spaced in time and address, each for as many
// accesses as a sampled one. Whatever counts or times samples afterwards
// (windows, groups, pages) then sees the lines where and when they passed.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <utility>

#include "estimator/access_classes.h"
#include "traces/trace.h"

namespace thermocline {

// What restore() may add: as many samples again and this many times more.
inline constexpr std::size_t kMostRestored = 4;

/// Whether a sample was put back. What was sampled took some time.
inline bool is_restored(const Sample& sample) {
  return sample.latency == 0 && sample.retire_latency == 0;
}

/// The trace with the lines put back that its streams fetched unseen; sorted.
/// Samples of other classes stay as they are. Restored samples have no latency
/// and repeat all else of the sample that they lead to. Where more than
/// kMostRestored times the trace's samples would be added, each stands for
/// more accesses instead.
Trace restore(const Trace& trace, const AccessClasses& classes);

/// Both traces of a pair, by the classes of the two.
std::pair<Trace, Trace> restore(const Trace& slow, const Trace& fast);

}  // namespace thermocline
