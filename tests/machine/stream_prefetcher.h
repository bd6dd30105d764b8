// StreamPrefetcher: notices lines touched in a row and fetches the next ones.
//
// Two neighbouring misses make a stream. Its lines are fetched ahead, twice as
// many as it is long up to a fixed distance, and never past the end of a page,
// as hardware does: of a long stream one miss per page stays uncovered.
// Fetched lines are kept here until the core asks for them; those never asked
// for have cost bandwidth, too.
// Thread safety: none; one per vCPU.
#pragma once

#include <array>
#include <cstdint>

#include "tests/machine/kinds.h"
#include "tests/machine/link.h"

namespace thermocline {

class StreamPrefetcher {
 public:
  static constexpr unsigned kMaxStreams = 32;
  static constexpr unsigned kMaxDistance = 31;

  /// Streams and distance beyond the limits above are cut to them. Without
  /// streams nothing is fetched ahead.
  explicit StreamPrefetcher(const CoreKind& core);

  struct Stream {
    std::uint64_t step = 0;     // +1, -1 (wrapping), or 0: a lone miss yet
    std::uint64_t fetched = 0;  // furthest fetched
    std::uint64_t length = 0;   // lines that followed the first
    std::array<Picos, kMaxDistance + 1> ready{};  // by line, its arrival
  };

  /// The stream that `line` continues, nullptr if none; a lone miss becomes
  /// the possible start of one. Forgets the stream used longest ago.
  Stream* follow(std::uint64_t line);

  /// When `line`, which `stream` follows, arrives; 0 if it was not fetched.
  Picos arrival(const Stream& stream, std::uint64_t line) const;

  /// Fetches from the same page what `line` brings into `stream`'s reach.
  /// Returns how many lines were fetched.
  unsigned advance(Stream& stream, std::uint64_t line, Picos now,
                   const MemoryKind& kind, Link& link) const;

 private:
  unsigned count_;
  std::uint64_t distance_;
  std::uint64_t uses_ = 0;
  // Apart from the rest, so that a miss looks at a few cache lines only.
  std::array<std::uint64_t, kMaxStreams> last_{};
  std::array<std::uint64_t, kMaxStreams> used_{};
  std::array<Stream, kMaxStreams> streams_{};
};

}  // namespace thermocline
