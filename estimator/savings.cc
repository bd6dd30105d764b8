#include "estimator/savings.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include "estimator/mixed_run.h"

namespace thermocline {
namespace {

constexpr std::size_t kStretch = 256;  // samples
constexpr int kPasses = 16;            // over each group of a stretch
constexpr int kMostPasses = 256;
constexpr std::size_t kWorthAThread = 64;  // stretches
// A stretch whose two runs differ by less says nothing.
constexpr double kLeastGain = 1e-3;

}  // namespace

template <typename Place>
double Savings::core_run(const Stretch& stretch, Place place) const {
  // A short one as long as others: else its beginning weighs too much.
  const std::size_t size = stretch.last - stretch.first;
  const auto passes = std::clamp(static_cast<int>(kPasses * kStretch / size),
                                 kPasses, kMostPasses);
  MixedRun mixed(shapes_, company_, passes);
  for (std::size_t s = stretch.first; s < stretch.last; ++s) {
    const int slow = place(samples_[s]);
    if (slow < 0) continue;
    mixed.add({samples_[s].kind, static_cast<std::uint16_t>(slow)});
  }
  return mixed.ns_per_access();
}

FineNanos Savings::saved_in(std::size_t number,
                            std::span<const TierId> placement,
                            TierId slowest) const {
  const Stretch& stretch = stretches_[number];
  SampleTime all, placed;
  std::size_t slow = 0, fast = 0;
  for (std::size_t s = stretch.first; s < stretch.last; ++s) {
    const TierId tier = placement[samples_[s].object];
    if (tier != slowest && tier != 0) continue;
    const SampleTime& time = times_[samples_[s].kind];
    all.slow_ns += time.slow_ns;
    all.fast_ns += time.fast_ns;
    (tier == 0 ? placed.fast_ns : placed.slow_ns) +=
        tier == 0 ? time.fast_ns : time.slow_ns;
    ++(tier == 0 ? fast : slow);
  }
  if (slow == 0 || fast == 0) return 0;
  const auto place = [&](const Placeable& sample) {
    const TierId tier = placement[sample.object];
    return tier == 0 ? 0 : tier == slowest ? 1 : -1;
  };
  double slow_run = stretch.slow_run, fast_run = stretch.fast_run;
  if (slow + fast < stretch.last - stretch.first) {
    const auto all_in = [&](int tier) {
      return core_run(stretch, [&](const Placeable& sample) {
        return place(sample) < 0 ? -1 : tier;
      });
    };
    slow_run = all_in(1);
    fast_run = all_in(0);
  }
  const double gain = slow_run - fast_run;
  const double real_gain = all.slow_ns - all.fast_ns;
  if (gain <= kLeastGain * slow_run || real_gain <= 0) return 0;
  const double left = (core_run(stretch, place) - fast_run) / gain;
  const double sum = placed.slow_ns + placed.fast_ns;
  const double time = all.fast_ns + real_gain * left;
  // Each tier's part in proportion to its share of the sum.
  const double by = (placed.slow_ns * stretch.slow_scale +
                     placed.fast_ns * stretch.fast_scale) /
                    sum;
  return sum > 0 ? to_fine((sum - time) * by) : 0;
}

void Savings::end_window(double slow_scale, double fast_scale) {
  std::size_t at = stretches_.empty() ? 0 : stretches_.back().last;
  while (at < samples_.size()) {
    Stretch next{.first = at,
                 .last = std::min(at + kStretch, samples_.size()),
                 .slow_scale = slow_scale,
                 .fast_scale = fast_scale};
    const auto run = [&](int tier) {
      return core_run(next, [tier](const Placeable&) { return tier; });
    };
    next.slow_run = run(1);
    next.fast_run = run(0);
    stretches_.push_back(next);
    at = next.last;
  }
  windows_.push_back(stretches_.size());
}

void Savings::index(std::size_t objects) {
  // Visits each object of each stretch once.
  const auto each = [&](const auto& visit) {
    constexpr std::size_t kNever = ~std::size_t{0};
    std::vector<std::size_t> seen(objects, kNever);
    std::size_t s = 0;
    for (std::size_t stretch = 0; stretch < stretches_.size(); ++stretch) {
      for (; s < stretches_[stretch].last; ++s) {
        const ObjectId object = samples_[s].object;
        if (seen[object] == stretch) continue;
        seen[object] = stretch;
        visit(object, stretch);
      }
    }
  };
  first_.assign(objects + 1, 0);
  each([&](ObjectId object, std::size_t) { ++first_[object + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  in_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  each([&](ObjectId object, std::size_t stretch) {
    in_[next[object]++] = static_cast<std::uint32_t>(stretch);
  });
}

std::span<const std::uint32_t> Savings::stretches_of(ObjectId object) const {
  return std::span(in_).subspan(first_[object],
                                first_[object + 1] - first_[object]);
}

double Savings::saved_ns(std::size_t w, std::span<const TierId> placement,
                         TierId slowest) const {
  if (w >= windows_.size()) return 0;
  FineNanos saved = 0;
  for (std::size_t g = w == 0 ? 0 : windows_[w - 1]; g < windows_[w]; ++g) {
    saved += saved_in(g, placement, slowest);
  }
  return to_ns(saved);
}

FineNanos Savings::saved(std::span<const TierId> placement,
                         TierId slowest) const {
  const auto sum = [&](std::size_t first, std::size_t last) {
    FineNanos saved = 0;
    for (std::size_t s = first; s < last; ++s) {
      saved += saved_in(s, placement, slowest);
    }
    return saved;
  };
  if (stretches_.size() < 2 * kWorthAThread) return sum(0, stretches_.size());
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t parts = std::min(cores, stretches_.size() / kWorthAThread);
  if (parts < 2) return sum(0, stretches_.size());
  std::vector<std::future<FineNanos>> others;
  for (std::size_t p = 1; p < parts; ++p) {
    others.push_back(std::async(std::launch::async, sum,
                                stretches_.size() * p / parts,
                                stretches_.size() * (p + 1) / parts));
  }
  FineNanos saved = sum(0, stretches_.size() / parts);
  for (auto& other : others) saved += other.get();
  return saved;
}

}  // namespace thermocline
