// Twin counters: each access of a thread, by two counters that see every other.
//
// x86's kernel takes no period of one and makes two of it
// (x86_perf_event_set_period() in arch/x86/events/core.c: "certain CPUs dont
// like it if just 1 hw_event is left"). So each event is opened twice with a
// period of two. Where the phases of these twins differ, both together have
// every access; where they are the same, they have the same ones, and half is
// missing. Nobody says which it is, so the records must show it: those of an
// event must come from its twins in turn, and be of different accesses.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tracer/sampler.h"

namespace thermocline {

struct TwinRecord {
  Sample access;
  std::uint32_t pid = 0xffffffff;  // not told
  std::uint64_t instructions = 0;  // executed by its thread until then
  std::size_t event = 0;
  std::size_t twin = 0;       // 0 or 1
  std::uint64_t counted = 0;  // accesses, by this twin until then
};

struct TwinRules {
  Nanos apart = 0;  // records before this are of twins in the same phase
  // By event: with this many records a twin stopped, and what came then is
  // without every other access.
  std::vector<std::size_t> most;
};

/// Puts the records of one thread together to the accesses that they leave no
/// doubt of: from where each event's twins run apart to the first record that
/// must be missing. An event that came less than twice may be left out. Stores
/// that the first cache served are left out, their instructions are not.
/// Returns: nothing when fewer than SequenceBuilder::kFewest are left, or when
/// a twin has counted clearly more of them than there are: a counter that
/// samples every third access has records in turn, too. Requires: every
/// record's event has its place in rules.most.
std::optional<SeenSequence> merge_twins(std::vector<TwinRecord> records,
                                        const TwinRules& rules);

}  // namespace thermocline
