#include "estimator/prefetcher.h"

#include <algorithm>
#include <cstdlib>

namespace thermocline {
namespace {

constexpr std::uint64_t kAhead = 20;
constexpr std::uint64_t kPageLines = 64;
constexpr std::uint64_t kOutlives = 256;

}  // namespace

Prefetcher::Stream* Prefetcher::follow(std::uint64_t line) {
  ++uses_;
  Stream* oldest = &streams_[0];
  for (Stream& one : streams_) {
    const std::uint64_t step = line - one.last;
    const bool neighbour = one.used > 0 && step + 1 <= 2 && step != 0;
    if (neighbour && (one.step == 0 || one.step == step)) {
      if (one.step == 0) {
        one.step = step;
        one.fetched = line;
        one.length = 0;
        one.comes[line % one.comes.size()] = 0;
      }
      one.last = line;
      one.used = uses_ + kOutlives;
      ++one.length;
      return &one;
    }
    if (one.used < oldest->used) oldest = &one;
  }
  oldest->last = line;
  oldest->used = uses_;
  oldest->step = 0;
  newest_ = static_cast<std::size_t>(oldest - streams_.data());
  return nullptr;
}

Prefetcher::Stream& Prefetcher::resume(std::uint64_t line, int lines) {
  Stream& one = streams_[newest_];
  one.step = lines > 0 ? 1 : ~std::uint64_t{0};
  one.fetched = line;
  one.length = static_cast<std::uint64_t>(std::abs(lines));
  one.used = uses_ + kOutlives;
  one.comes[line % one.comes.size()] = 0;
  return one;
}

double Prefetcher::comes(Stream& stream, std::uint64_t line) {
  const auto ahead =
      static_cast<std::int64_t>((stream.fetched - line) * stream.step);
  if (ahead >= 0) return stream.comes[line % stream.comes.size()];
  stream.fetched = line;  // its page had ended
  return 0;
}

bool Prefetcher::wants(const Stream& stream, std::uint64_t line) {
  const auto reach = std::min(kAhead, 2 * stream.length);
  return (stream.fetched - line) * stream.step < reach &&
         (stream.fetched + stream.step) / kPageLines == line / kPageLines;
}

}  // namespace thermocline
