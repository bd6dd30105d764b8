// perf_processes: what perf's records say of processes: MMAP, COMM, FORK, EXIT.
//
// Thread safety: pure functions and plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tracer/perf_records.h"
#include "traces/trace.h"

namespace thermocline {

// One such record.
struct ProcessEvent {
  enum class Kind { kMapped, kNamed, kForked, kEnded };
  Kind kind = Kind::kMapped;
  bool exec = false;  // kNamed: by execve, which drops all mappings
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t parent = 0;  // kForked: the parent's pid
  Nanos time = 0;            // 0: before the recording, or not told
  Mapping mapping;           // kMapped
  std::string name;          // kNamed
};

/// Decodes a record of one of these kinds. `format` is that of any event of
/// the recording, for the fields that end each record. Returns: nothing for
/// records of other kinds, and for those that are cut short; `*malformed` is
/// set for the latter.
std::optional<ProcessEvent> decode_process_event(
    const EventFormat& format, const PerfHeader& header,
    std::span<const std::uint8_t> body, bool* malformed);

}  // namespace thermocline
