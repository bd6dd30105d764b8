// Prefetcher: notices lines that are asked for in a row, and says which to
// fetch ahead.
//
// Two neighbouring lines make a stream; ahead of it are fetched twice as many
// lines as it is long, up to 20, and never past the end of a page: so does the
// streamer of Intel's second cache (Optimization manual, section 2.5.5). A
// stream outlives 256 lines of no stream.
//
// Thread safety: none. Units: nanoseconds; lines by number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thermocline {

class Prefetcher {
 public:
  struct Stream {
    std::uint64_t last = 0;
    std::uint64_t step = 0;     // 1 or, modulo 2^64, -1; 0: a single line yet
    std::uint64_t fetched = 0;  // the furthest
    std::uint64_t length = 0;   // lines that followed the first
    std::uint64_t used = 0;     // when, in lines asked for
    std::array<double, 32> comes{};  // by line, when; 0: was not fetched
  };

  /// The stream that `line` goes on with; nullptr: none. Then it may begin one.
  Stream* follow(std::uint64_t line);
  /// No stream went on with `line`, the last asked for, but one was under way:
  /// so many lines of it came before; below 0: it goes down. Requires: not 0.
  Stream& resume(std::uint64_t line, int lines);
  /// When `line` comes, of this stream; 0: it was not fetched.
  static double comes(Stream& stream, std::uint64_t line);
  /// Fetches what `line` brings into reach: fetch() returns when it comes.
  template <typename Fetch>
  static void advance(Stream& stream, std::uint64_t line, Fetch fetch) {
    while (wants(stream, line)) {
      stream.fetched += stream.step;
      stream.comes[stream.fetched % stream.comes.size()] = fetch();
    }
  }

 private:
  static bool wants(const Stream& stream, std::uint64_t line);

  std::array<Stream, 32> streams_{};
  std::size_t newest_ = 0;  // of streams_, where none was gone on with
  std::uint64_t uses_ = 0;
};

}  // namespace thermocline
