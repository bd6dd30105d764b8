#include "estimator/tier_order.h"

#include <algorithm>

namespace thermocline {
namespace {

// Those figures in which `first` is slower than `second`, if it is so in all
// that both tell; else none.
std::string slower_in_all(const Tier& first, const Tier& second) {
  std::string names;
  for (const Figure& figure : kFigures) {
    const double one = first.*figure.value;
    const double other = second.*figure.value;
    if (one <= 0 || other <= 0) continue;
    if (!(figure.latency ? one > other : one < other)) return {};
    names += (names.empty() ? "" : ", ") + std::string(figure.name);
  }
  return names;
}

}  // namespace

std::string contradiction(const std::vector<Tier>& tiers) {
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    for (std::size_t u = t + 1; u < tiers.size(); ++u) {
      const std::string names = slower_in_all(tiers[t], tiers[u]);
      if (names.empty()) continue;
      return "tier \"" + tiers[t].name + "\" stands before \"" + tiers[u].name +
             "\" but is slower in " + names + "; list the fastest tier first";
    }
  }
  return {};
}

void put_fastest_first(std::vector<Tier>& tiers) {
  std::vector<Figure> known;
  for (const Figure& figure : kFigures) {
    if (std::all_of(tiers.begin(), tiers.end(),
                    [&](const Tier& tier) { return tier.*figure.value > 0; })) {
      known.push_back(figure);
    }
  }
  const auto distance = [&](const Tier& tier) {
    double latency = 0;
    double bandwidth = 0;
    for (const Figure& figure : known) {
      (figure.latency ? latency : bandwidth) += tier.*figure.value;
    }
    return (latency > 0 ? latency : 1) / (bandwidth > 0 ? bandwidth : 1);
  };
  std::stable_sort(
      tiers.begin(), tiers.end(),
      [&](const Tier& a, const Tier& b) { return distance(a) < distance(b); });
}

}  // namespace thermocline
