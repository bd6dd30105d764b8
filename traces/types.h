// The words everyone speaks: identities, units, and one sampled access.
//
// Units are in the name of the type or of the field; nothing is a bare number.
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace thermocline {

using Address = std::uint64_t;  // virtual, of the target
using Bytes = std::uint64_t;
using Nanos = std::int64_t;  // of the trace's one clock; see Trace::clock

// What can be placed: a tensor (an allocation's serial number, never an
// address, for addresses are reused) or a region (a run of pages treated
// alike). Serial numbers start at 1; regions are numbered from 0 by the
// RegionMap that made them.
using ObjectId = std::uint32_t;

// Index into Machine::tiers, fastest first.
using TierId = std::uint8_t;
inline constexpr TierId kNoTier = std::numeric_limits<TierId>::max();

enum class Access : std::uint8_t { kLoad = 0, kStore = 1 };

// Where the hardware says that the data came from.
enum class Source : std::uint8_t {
  kUnknown = 0,
  kCache,       // a cache that the hardware does not name, or another core's
  kDram,        // local memory
  kRemote,      // another socket's memory
  kPmem,        // persistent memory
  kCxl,         // memory behind CXL
  kL1,          // first-level cache
  kL2,          // second-level cache
  kL3,          // third-level cache
  kFillBuffer,  // a line that was under way already
};

// One sampled access.
struct Sample {
  Nanos time = 0;
  Address address = 0;
  Address ip = 0;            // instruction pointer
  std::uint32_t thread = 0;  // thread id; 0xffffffff where the source has none
  std::uint32_t cpu = 0;
  std::uint32_t latency = 0;  // cycles, of the access itself; 0: not given
  std::uint32_t period = 1;   // how many such events this sample stands for
  Access access = Access::kLoad;
  Source source = Source::kUnknown;
  // Cycles from the retirement of the instruction before to this one's: how
  // long the processor waited for this access and for nothing else. One that
  // was made up for by others has next to none, however long it took. 65535
  // stands for that and more. In a trace where no sample has any it is not
  // given: processors with PEBS timing info have it (Granite Rapids), since
  // Linux 6.3.
  std::uint16_t retire_latency = 0;
  // Physical: says on which memory node the page lay then, whatever was moved
  // since. 0: not told (it takes CAP_PERFMON, and not every event has it). A
  // trace keeps its 4-KiB page; the rest is as in `address`.
  Address physical = 0;
  bool operator==(const Sample&) const = default;
};

}  // namespace thermocline
