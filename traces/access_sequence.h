// AccessSequence: a few hundred accesses of one thread, in the order made.
//
// Samples are far apart, and say neither what came right before and after nor
// what waits for what. So a tracer records, now and then, each access that the
// first cache did not serve, one after the other, with what was executed in
// between (tracer/sequence_source.h), and the first store to a line that a load
// of it brought. No time is told but the first's: recording takes longer.
//
// Thread safety: plain values.
#pragma once

#include <vector>

#include "traces/types.h"

namespace thermocline {

struct SequencedAccess {
  Address address = 0;
  Address ip = 0;  // instruction pointer
  std::uint32_t instructions =
      0;  // executed since the one before; the first: 0
  Access access = Access::kLoad;
  // A cache: its line was there or had been fetched; kL1: a store writes it.
  Source source = Source::kUnknown;
  bool operator==(const SequencedAccess&) const = default;
};

struct AccessSequence {
  Nanos time = 0;            // of its first
  std::uint32_t thread = 0;  // as in Sample
  std::uint32_t cpu = 0;
  std::vector<SequencedAccess> accesses;
  bool operator==(const AccessSequence&) const = default;
};

}  // namespace thermocline
