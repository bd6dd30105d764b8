#include "estimator/chosen_elsewhere.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace thermocline {
namespace {

constexpr std::size_t kNeighbours = 64;
constexpr double kSigmas = 3;

using Order = std::vector<std::size_t>;

Order by_address(std::span<const Region> objects) {
  Order order(objects.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return objects[a].start < objects[b].start;
  });
  return order;
}

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

By chosen_by(const std::vector<double>& counts, std::span<const Region> objects,
             const Order& order, std::span<const double> slowness) {
  Sums sums;
  std::vector<double> here, tiers;
  Address first = 0;
  for (std::size_t i = 0; i <= order.size(); ++i) {
    const Region* next = i < order.size() ? &objects[order[i]] : nullptr;
    const bool ends = next == nullptr || (next->start - first) / kNeighbours >=
                                             std::max<Bytes>(next->bytes(), 1);
    if (ends && !here.empty()) {
      add_block(here, tiers, sums);
      here.clear();
      tiers.clear();
    }
    if (next == nullptr) break;
    if (here.empty()) first = next->start;
    here.push_back(counts[order[i]]);
    tiers.push_back(slowness[order[i]]);
  }
  return sums.judge();
}

}  // namespace

bool chosen_elsewhere(std::span<const Trace* const> runs,
                      std::span<const Region> objects,
                      std::span<const double> slowness) {
  const Order order = by_address(objects);
  std::vector<double> all(objects.size(), 0);
  for (const Trace* run : runs) {
    std::vector<double> own(objects.size(), 0);
    for (const Sample& sample : run->samples) {
      const auto after = std::upper_bound(
          order.begin(), order.end(), sample.address,
          [&](Address at, std::size_t o) { return at < objects[o].start; });
      if (after == order.begin()) continue;
      const std::size_t o = *(after - 1);
      if (sample.address < objects[o].end) own[o] += 1;
    }
    for (std::size_t o = 0; o < own.size(); ++o) all[o] += own[o];
    if (chosen_by(own, objects, order, slowness) == By::kTheseCounts) {
      return false;
    }
  }
  return chosen_by(all, objects, order, slowness) == By::kHeat;
}

}  // namespace thermocline
