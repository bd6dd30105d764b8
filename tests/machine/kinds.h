// kinds: what the emulated core and its memories are, as data.
//
// Every figure comes from kinds.json, where it stands beside its source.
// Times are picoseconds: whole numbers keep the virtual clock exact and the
// same on every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thermocline {

using Picos = std::uint64_t;

/// One kind of memory, as one core of a busy socket sees it.
struct MemoryKind {
  std::string name;
  Picos latency = 0;          ///< of a read, on an idle link
  Picos read_occupancy = 0;   ///< the link's time for one line read
  Picos write_occupancy = 0;  ///< the link's time for one line written
  /// PERF_SAMPLE_DATA_SRC of an access served here, without mem_op.
  std::uint64_t data_source = 0;
};

/// The emulated out-of-order core.
struct CoreKind {
  Picos per_instruction = 167;
  Picos per_cycle = 333;
  unsigned loads_in_flight = 10;
  unsigned window_instructions = 256;
  unsigned store_buffer = 56;
  unsigned writebacks = 32;  ///< dirty lines on their way out
  unsigned streams = 16;
  unsigned prefetch_lines = 20;
};

struct Kinds {
  CoreKind core;
  std::vector<MemoryKind> memories;

  /// Returns nullptr if there is no such kind.
  const MemoryKind* find(const std::string& name) const;
};

/// Reads kinds.json. On failure returns false and says why in `error`.
bool read_kinds(const std::string& path, Kinds& kinds, std::string& error);

}  // namespace thermocline
