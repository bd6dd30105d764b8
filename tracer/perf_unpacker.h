// PerfUnpacker: the records inside perf's compressed records (perf record -z).
//
// perf compresses a recording's records as one Zstandard stream, cut into
// records at any byte (tools/perf/util/zstd.c); so one unpacker follows them
// all, in order. Thread safety: none. Memory: Zstandard's window, at most
// 8 MiB, and what one record unpacks to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tracer/unpack.h"
#include "traces/result.h"

namespace thermocline {

class PerfUnpacker {
 public:
  // No record of perf's unpacks to a fraction of this.
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  /// Appends what `packed` unpacks to. Errors: kCorrupt.
  Status unpack(std::span<const std::uint8_t> packed,
                std::vector<std::uint8_t>& to);

 private:
  std::unique_ptr<Unpack> stream_;  // from the first record on
};

}  // namespace thermocline
