#include "estimator/chosen_elsewhere.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "estimator/neighbours.h"
#include "estimator/store_hits.h"
#include "traces/from_cache.h"
#include "traces/region_index.h"

namespace thermocline {
namespace {

constexpr double kSigmas = 3;

enum class By { kOther, kHeat, kTheseCounts };

// Sums over blocks of neighbours, of what differs within each.
struct Sums {
  double variance = 0;  // of counts
  double chance = 0;    // of it
  double follows = 0;   // covariance of counts with speed
  double noise = 0;     // variance of that by chance
  double most = 0;      // what it could be

  By judge() const {
    if (follows <= kSigmas * std::sqrt(noise)) return By::kOther;
    const double known = std::sqrt(std::max(0.0, 1 - chance / variance));
    const double closely = follows / most;
    if (closely > (1 + known) / 2) return By::kTheseCounts;
    return closely > known / 2 ? By::kHeat : By::kOther;
  }
};

double mean_of(const std::vector<double>& all) {
  return std::accumulate(all.begin(), all.end(), 0.0) /
         static_cast<double>(all.size());
}

void add_block(std::vector<double> counts, std::vector<double> slowness,
               Sums& sums) {
  const double mean = mean_of(counts), middle = mean_of(slowness);
  const auto followed = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      sum -= (counts[i] - mean) * slowness[i];
    }
    return sum;
  };
  const double follows = followed();
  std::sort(counts.begin(), counts.end());
  std::sort(slowness.rbegin(), slowness.rend());
  if (slowness.front() == slowness.back()) return;  // nothing was chosen
  sums.follows += follows;
  sums.most += followed();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sums.variance += (counts[i] - mean) * (counts[i] - mean);
    sums.noise += mean * (slowness[i] - middle) * (slowness[i] - middle);
  }
  sums.chance += mean * static_cast<double>(counts.size() - 1);
}

By chosen_by(const std::vector<double>& counts,
             std::span<const std::vector<ObjectId>> runs,
             std::span<const double> slowness) {
  Sums sums;
  for (const auto& run : runs) {
    std::vector<double> here, tiers;
    for (const ObjectId object : run) {
      here.push_back(counts[object]);
      tiers.push_back(slowness[object]);
    }
    add_block(std::move(here), std::move(tiers), sums);
  }
  return sums.judge();
}

}  // namespace

ChosenElsewhere::ChosenElsewhere(std::span<const Trace* const> runs,
                                 std::span<const Region> objects) {
  std::vector<ObjectId> all(objects.size());
  std::iota(all.begin(), all.end(), ObjectId{0});
  Bytes largest = 0;
  for (const Region& one : objects) largest = std::max(largest, one.bytes());
  neighbours_ = neighbours(objects, std::move(all), largest);
  const RegionIndex index(objects);
  std::vector<double> sum(objects.size(), 0);
  for (const Trace* run : runs) {
    std::vector<double> own(objects.size(), 0);
    for (const Sample& sample : run->samples) {
      if (from_cache(sample)) continue;
      if (const auto object = index.find(sample.address)) own[*object] += 1;
    }
    for (std::size_t o = 0; o < own.size(); ++o) sum[o] += own[o];
    counts_.push_back(std::move(own));
  }
  counts_.push_back(std::move(sum));
}

bool ChosenElsewhere::operator()(std::span<const double> slowness) const {
  By by = By::kOther;
  for (const auto& counts : counts_) {
    by = chosen_by(counts, neighbours_, slowness);
    if (by == By::kTheseCounts) return false;
  }
  return by == By::kHeat;  // by all of them
}

}  // namespace thermocline
