#include "estimator/sample_order.h"

#include <algorithm>
#include <array>

namespace thermocline {
namespace {

// Samples seen last.
template <std::size_t N>
class Ring {
 public:
  void add(std::uint32_t sample) { samples_[seen_++ % N] = sample; }
  bool empty() const { return seen_ == 0; }
  std::uint32_t last() const { return samples_[(seen_ - 1) % N]; }
  /// The newest first, at most N.
  template <typename Visit>
  void each(std::size_t count, const Visit& visit) const {
    for (std::size_t i = 1; i <= std::min({count, seen_, N}); ++i) {
      visit(samples_[(seen_ - i) % N]);
    }
  }

 private:
  std::array<std::uint32_t, N> samples_{};
  std::size_t seen_ = 0;
};

Address distance(Address a, Address b) { return a > b ? a - b : b - a; }

}  // namespace

std::vector<std::uint32_t> nearest_before(const Trace& trace,
                                          std::span<const std::uint32_t> of,
                                          std::span<const std::size_t> own) {
  std::array<Ring<kLookBack>, 2> kinds;
  std::vector<Ring<kMostLookBackOwn>> classes(own.size());
  std::vector<std::uint32_t> out;
  out.reserve(trace.samples.size());
  for (std::uint32_t s = 0; s < trace.samples.size(); ++s) {
    const Sample& sample = trace.samples[s];
    auto& kind = kinds[sample.access == Access::kStore ? 1 : 0];
    std::uint32_t nearest = kNoSample;
    Address way = ~Address{0};
    const auto look_at = [&](std::uint32_t other) {
      const Address to = distance(sample.address, trace.samples[other].address);
      if (to == 0 || to >= way) return;
      way = to;
      nearest = other;
    };
    auto& mine = classes[of[s]];
    mine.each(own[of[s]], look_at);
    kind.each(kLookBack, [&](std::uint32_t other) {
      if (mine.empty() || other > mine.last()) look_at(other);
    });
    kind.add(s);
    mine.add(s);
    out.push_back(nearest);
  }
  return out;
}

}  // namespace thermocline
