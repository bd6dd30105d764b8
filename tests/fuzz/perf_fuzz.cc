// Fuzzes the perf pipe stream: whatever comes, and in whatever pieces, is
// decoded alike or refused.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "tracer/perf_stream.h"

using thermocline::PerfStream;
using thermocline::SampleBatch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  PerfStream at_once;
  SampleBatch whole;
  const bool good = static_cast<bool>(at_once.feed({data, size}, whole));

  PerfStream in_pieces;
  SampleBatch parts;
  bool still_good = true;
  for (std::size_t at = 0; at < size && still_good;) {
    const auto piece = std::min<std::size_t>(1 + (size - at) % 13, size - at);
    still_good = static_cast<bool>(in_pieces.feed({data + at, piece}, parts));
    at += piece;
  }
  const bool same = good == still_good && whole.samples == parts.samples &&
                    whole.counters == parts.counters &&
                    whole.lost == parts.lost &&
                    whole.malformed == parts.malformed;
  if (!same) std::abort();
  return 0;
}
