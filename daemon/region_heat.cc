#include "daemon/region_heat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "traces/faded.h"
#include "traces/result.h"

namespace thermocline {
namespace {

constexpr float kDecay = 0.9F;  // a window: ten of them count
// So many samples of a region are enough to tell eight parts apart.
constexpr float kEnough = 64;
constexpr float kCold = 4;
constexpr float kColdInNeed = 16;      // when few regions are left
constexpr std::size_t kSplits = 64;    // a window
constexpr std::size_t kLooks = 4'096;  // at large regions, for merges, a window
constexpr std::int32_t kTrial = 10;    // windows until parts are judged
constexpr std::int32_t kEven = 256;    // windows until the whole is tried again

}  // namespace

void RegionHeat::end_window(const SplitRegions& regions,
                            std::span<const double> samples) {
  CHECK(samples.size() == regions.size());
  ++window_;
  samples_.resize(samples.size());
  rests_until_.resize(samples.size());
  rests_below_.resize(samples.size());
  for (std::size_t id = 0; id < samples.size(); ++id) {
    samples_[id] =
        faded(kDecay * samples_[id] + static_cast<float>(samples[id]));
  }
}

std::vector<std::vector<ObjectId>> RegionHeat::to_merge(
    const SplitRegions& regions) {
  std::vector<std::vector<ObjectId>> out;
  std::unordered_set<ObjectId> taken;
  const auto& large = regions.large();
  const bool need = regions.left() < regions.size() / 8;
  const float cold = need ? kColdInNeed : kCold;
  auto at = large.lower_bound(cursor_);
  for (std::size_t looks = 0; looks < std::min(kLooks, large.size()); ++looks) {
    if (at == large.end()) at = large.begin();
    cursor_ = at->first + 1;
    const auto group = regions.block(at->second);
    ++at;
    // Small parts may belong to a block of their own and to a larger one.
    if (group.empty() || std::ranges::any_of(group, [&](ObjectId id) {
          return rests(id) || taken.contains(id);
        })) {
      continue;
    }
    float sum = 0;
    float least = samples_[group.front()];
    float most = least;
    for (const ObjectId id : group) {
      sum += samples_[id];
      least = std::min(least, samples_[id]);
      most = std::max(most, samples_[id]);
    }
    // As Poisson's noise would have it, or twofold, is alike.
    const float mean = sum / static_cast<float>(group.size());
    const bool even =
        sum >= kEnough && most - least <= std::max(mean, 4 * std::sqrt(mean));
    if (sum >= cold && !even) continue;
    taken.insert(group.begin(), group.end());
    out.push_back(group);
  }
  return out;
}

void RegionHeat::merged(std::span<const ObjectId> parts) {
  const ObjectId whole = parts.front();
  for (const ObjectId id : parts.subspan(1)) {
    samples_[whole] += samples_[id];
    samples_[id] = 0;
  }
  const bool even = samples_[whole] >= kEnough;
  rests_until_[whole] = window_ + (even ? kEven : 0);
  rests_below_[whole] = 2 * samples_[whole];
}

std::vector<ObjectId> RegionHeat::to_split(const SplitRegions& regions) const {
  struct Candidate {
    double density;
    ObjectId id;
  };
  std::vector<Candidate> found;
  for (const auto& [start, id] : regions.large()) {
    const Bytes bytes = regions.region(id).bytes();
    if (samples_[id] < kEnough || bytes <= regions.region_bytes() ||
        rests(id)) {
      continue;
    }
    found.push_back(
        {static_cast<double>(samples_[id]) / static_cast<double>(bytes), id});
  }
  const auto count = std::min(found.size(), kSplits);
  std::ranges::partial_sort(
      found, found.begin() + static_cast<std::ptrdiff_t>(count),
      [](const Candidate& a, const Candidate& b) {
        return a.density != b.density ? a.density > b.density : a.id < b.id;
      });
  std::vector<ObjectId> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(found[i].id);
  return out;
}

void RegionHeat::split(std::span<const ObjectId> parts) {
  std::size_t most = 0;
  for (const ObjectId id : parts) most = std::max<std::size_t>(most, id + 1);
  samples_.resize(std::max(samples_.size(), most));
  rests_until_.resize(samples_.size());
  rests_below_.resize(samples_.size());
  // Nothing is known of them yet.
  for (const ObjectId id : parts) {
    samples_[id] = 0;
    rests_until_[id] = window_ + kTrial;
    rests_below_[id] = std::numeric_limits<float>::max();
  }
}

}  // namespace thermocline
