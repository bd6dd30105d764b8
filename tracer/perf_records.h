// perf_records: one record of the kernel's perf interface, decoded.
//
// What a sample record holds, and in which order, is decided by the event's
// attributes; this file knows both (perf_event_open(2); perf_output_sample()
// in kernel/events/core.c). Bytes may come from a file or another machine, and
// are never trusted. Little-endian machines only, like the rest.
//
// Thread safety: pure functions and plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

// Record types that concern us. Up to 63 they are the kernel's, above perf's.
enum class PerfRecord : std::uint32_t {
  kMmap = 1,
  kLost = 2,
  kComm = 3,
  kExit = 4,
  kThrottle = 5,
  kFork = 7,
  kSample = 9,
  kMmap2 = 10,
  kLostSamples = 13,
  kHeaderAttr = 64,
  kTracingData = 66,
  kFinishedRound = 68,
  kAuxtrace = 71,
  kEventUpdate = 78,
  kHeaderFeature = 80,
  kCompressed = 81,
  kFinishedInit = 82,
  kCompressed2 = 83,
};

struct PerfHeader {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::uint16_t size = 0;  // whole record, this header included
};
inline constexpr std::size_t kPerfHeaderBytes = 8;

// A clockid that no kernel has ("th"): times are the emulated machine's.
inline constexpr std::int32_t kVirtualClock = 0x7468;

// What an event's attributes (struct perf_event_attr) say of its records.
struct EventFormat {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t branch_sample_type = 0;
  std::uint64_t period = 1;          // of samples that do not carry theirs
  std::uint64_t user_registers = 0;  // mask
  std::uint64_t interrupt_registers = 0;
  bool virtual_clock = false;
  bool all_identified = false;  // not only its samples: sample_id_all
  bool losses_asked = false;    // of the event itself: LOST records are no news
  std::uint32_t breakpoint = 0;  // what a breakpoint waits for
  std::string name;              // "loads", when the stream tells

  bool has(std::uint64_t sample_bit) const {
    return (sample_type & sample_bit) != 0;
  }
  /// True when its samples are memory accesses: they carry an address.
  bool is_access() const;
  /// True when its samples come one after the other, as their names say
  /// ("sequence.loads"): they make sequences (sequence_builder.h).
  bool is_sequence() const { return name.starts_with("sequence."); }
  /// True for events that count stores, which matters where a sample's data
  /// source does not say.
  bool is_store() const;
};

/// Reads attributes of any version from the front of `bytes`. Returns: the
/// format; `*size` is set to the bytes they take. Errors: kCorrupt.
Result<EventFormat> decode_attributes(std::span<const std::uint8_t> bytes,
                                      std::size_t* size);

struct PerfValue {
  std::uint64_t value = 0;
  std::uint64_t id = 0;  // 0: not told
};

// A sample as the kernel wrote it; fields that its event does not have are as
// here.
struct PerfSample {
  std::uint64_t ip = 0;
  std::uint32_t pid = 0xffffffff;
  std::uint32_t tid = 0xffffffff;
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t id = 0;
  std::uint32_t cpu = 0;
  std::uint64_t period = 1;
  std::uint64_t weight = 0;
  std::uint64_t data_source = 0;
  std::uint64_t physical_address = 0;
  std::uint64_t data_page_bytes = 0;
  std::vector<PerfValue> values;  // of PERF_SAMPLE_READ
};

/// Decodes the body of a sample record (what follows its header). `out` is
/// overwritten; it may be used again to spare allocations. Returns: false when
/// the body is not what the format says.
bool decode_sample(const EventFormat& format,
                   std::span<const std::uint8_t> body, PerfSample& out);

/// The id by which a sample names its event, read before its format is known:
/// the first field with PERF_SAMPLE_IDENTIFIER, else where `any` (any event of
/// the stream) has PERF_SAMPLE_ID. Returns: 0 when there is none.
std::uint64_t sample_id(const EventFormat& any,
                        std::span<const std::uint8_t> body);

/// The access that a sample of an access event stands for.
Sample to_access(const EventFormat& format, const PerfSample& sample);

/// Where the data came from, by PERF_SAMPLE_DATA_SRC (union perf_mem_data_src).
Source data_source(std::uint64_t bits);

}  // namespace thermocline
