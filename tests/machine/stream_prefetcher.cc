#include "tests/machine/stream_prefetcher.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr std::uint64_t kLinesPerPage = 64;
// A stream outlives this many lone misses: those of a gather must not displace
// the stream of its indices.
constexpr std::uint64_t kCredit = 256;

bool same_page(std::uint64_t a, std::uint64_t b) {
  return a / kLinesPerPage == b / kLinesPerPage;
}

}  // namespace

StreamPrefetcher::StreamPrefetcher(const CoreKind& core)
    : count_(std::min(core.streams, kMaxStreams)),
      distance_(std::clamp(core.prefetch_lines, 1u, kMaxDistance)) {}

StreamPrefetcher::Stream* StreamPrefetcher::follow(std::uint64_t line) {
  ++uses_;
  unsigned oldest = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const std::uint64_t step = line - last_[i];
    if (step + 1 <= 2 && step != 0) {  // +1 or -1
      Stream& stream = streams_[i];
      if (stream.step == 0) {
        stream.step = step;
        stream.fetched = line;
        stream.length = 0;
        stream.ready[line % stream.ready.size()] = 0;
      }
      if (stream.step == step) {
        last_[i] = line;
        used_[i] = uses_ + kCredit;
        ++stream.length;
        return &stream;
      }
    }
    if (used_[i] < used_[oldest]) oldest = i;
  }
  last_[oldest] = line;
  used_[oldest] = uses_;
  streams_[oldest].step = 0;
  return nullptr;
}

Picos StreamPrefetcher::arrival(const Stream& stream,
                                std::uint64_t line) const {
  const auto ahead =
      static_cast<std::int64_t>((stream.fetched - line) * stream.step);
  return ahead >= 0 ? stream.ready[line % stream.ready.size()] : 0;
}

unsigned StreamPrefetcher::advance(Stream& stream, std::uint64_t line,
                                   Picos now, const MemoryKind& kind,
                                   Link& link) const {
  const auto ahead =
      static_cast<std::int64_t>((stream.fetched - line) * stream.step);
  if (ahead < 0) stream.fetched = line;  // the page ended: start afresh
  const std::uint64_t reach = std::min(distance_, 2 * stream.length);
  unsigned lines = 0;
  while ((stream.fetched - line) * stream.step < reach &&
         same_page(stream.fetched + stream.step, line)) {
    stream.fetched += stream.step;
    const Picos start = link.pass(now, kind.read_occupancy);
    stream.ready[stream.fetched % stream.ready.size()] = start + kind.latency;
    ++lines;
  }
  return lines;
}

}  // namespace thermocline
