// What machine-learning programs do to memory, one operation at a time.
//
// `thermocline probe --operations` times each of them on each kind of memory:
// two figures (latency and bandwidth) tell what a tier is, these tell what it
// is good for. After the micro-benchmarks of the dissertation of A. Wood
// (2024), whose list is not public; this one is ours: what forward and backward
// passes, optimizers, embeddings and loaders come down to.
//
// Bytes are those that the program wants, each once: of a 4-byte store that
// costs a line, 4. So an operation's rate says at once what its pattern wastes.
// Thread safety: pure; the memory is the caller's, and threads share none.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "traces/types.h"

namespace thermocline {

struct MemoryOperation {
  const char* name;  // "gather"
  Bytes unit;        // of a row that is gathered, or between stores; 0: none
  bool writes;
  const char* what;
  /// Goes through all of the memory once, or makes as many random accesses as
  /// read a sixteenth of it. `turn` differs from call to call. Returns: the
  /// bytes that were wanted. Requires: at least 64 KiB, a whole number of
  /// pages.
  Bytes (*run)(std::span<float> memory, Bytes unit, std::uint64_t turn);

  std::string title() const;  // "gather of 256 B"
};

/// All of them, in the order of a report.
std::span<const MemoryOperation> memory_operations();

}  // namespace thermocline
