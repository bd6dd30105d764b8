#include "estimator/access_classes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "estimator/access_cost.h"

namespace thermocline {
namespace {

constexpr std::size_t kBefore = 64;  // samples of a kind that are remembered
constexpr Bytes kBlock = 2 * 1024 * 1024;  // by which a class's reach is told
// Of samples with a near predecessor, so many must lie on one side of it, and
// so many times nearer than by chance.
constexpr double kOneSided = 0.85;
constexpr double kNearer = 2;

bool is_store(const Sample& sample) { return sample.access == Access::kStore; }

// How far the samples of a class lie from the nearest one before them.
struct Advance {
  std::vector<double> way;
  std::vector<bool> forward;
  std::set<Address> blocks;
};

double median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void judge(const Advance& advance, AccessClass& out) {
  if (advance.way.size() < AccessClasses::kFewest / 2) return;
  const double way = median(advance.way);
  // Of so many addresses at random, the median of the nearest one's distance.
  const double reach = static_cast<double>(advance.blocks.size() * kBlock);
  const double chance = reach * std::log(2.0) / (2 * kBefore);
  double near = 0, forward = 0;
  for (std::size_t i = 0; i < advance.way.size(); ++i) {
    if (advance.way[i] > 4 * way) continue;
    near += 1;
    forward += advance.forward[i] ? 1 : 0;
  }
  const double side = std::max(forward, near - forward) / near;
  if (side < kOneSided || way * kNearer > chance) return;
  out.sequential = true;
  out.lines = std::max(1.0, way / (kLineBytes * out.period));
}

}  // namespace

AccessClasses::AccessClasses(const Trace& slow, const Trace& fast) {
  std::map<std::pair<Address, bool>, std::uint64_t> counts;
  for (const Trace* trace : {&slow, &fast}) {
    for (const Sample& sample : trace->samples) {
      if (sample.ip != 0) ++counts[{sample.ip, is_store(sample)}];
    }
  }
  std::vector<std::pair<std::uint64_t, std::pair<Address, bool>>> order;
  for (const auto& [key, count] : counts) {
    if (count >= kFewest) order.push_back({count, key});
  }
  std::sort(order.rbegin(), order.rend());
  if (order.size() > kMost) order.resize(kMost);
  for (const auto& [count, key] : order) {
    auto& by_instruction = key.second ? stores_ : loads_;
    by_instruction[key.first] = static_cast<std::uint32_t>(classes_.size());
    classes_.push_back({.store = key.second});
  }
  classes_.push_back({.store = false});
  classes_.push_back({.store = true});
  std::vector<double> periods(classes_.size(), 0), samples(classes_.size(), 0);
  for (const Trace* trace : {&slow, &fast}) {
    for (const Sample& sample : trace->samples) {
      periods[of(sample)] += std::max(sample.period, 1U);
      samples[of(sample)] += 1;
    }
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (samples[c] > 0) classes_[c].period = periods[c] / samples[c];
  }
  look_at_order(slow);
}

std::size_t AccessClasses::of(const Sample& sample) const {
  const bool store = is_store(sample);
  const auto& by_instruction = store ? stores_ : loads_;
  const auto at = by_instruction.find(sample.ip);
  if (at != by_instruction.end()) return at->second;
  return classes_.size() - (store ? 1 : 2);
}

void AccessClasses::look_at_order(const Trace& trace) {
  std::vector<Advance> advances(classes_.size());
  std::array<std::array<Address, kBefore>, 2> before{};
  std::array<std::size_t, 2> seen{};
  for (const Sample& sample : trace.samples) {
    const std::size_t kind = is_store(sample) ? 1 : 0;
    auto& ring = before[kind];
    const std::size_t count = std::min(seen[kind], kBefore);
    Address nearest = ~Address{0};
    bool forward = false;
    for (std::size_t i = 0; i < count; ++i) {
      const bool ahead = sample.address > ring[i];
      const Address way =
          ahead ? sample.address - ring[i] : ring[i] - sample.address;
      if (way == 0 || way >= nearest) continue;
      nearest = way;
      forward = ahead;
    }
    ring[seen[kind]++ % kBefore] = sample.address;
    auto& advance = advances[of(sample)];
    advance.blocks.insert(sample.address / kBlock);
    if (nearest == ~Address{0}) continue;
    advance.way.push_back(static_cast<double>(nearest));
    advance.forward.push_back(forward);
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    judge(advances[c], classes_[c]);
  }
}

std::vector<double> AccessClasses::latencies(const Trace& trace,
                                             double cycles_per_ns) const {
  std::vector<double> sums(classes_.size(), 0), counts(classes_.size(), 0);
  for (const Sample& sample : trace.samples) {
    if (sample.latency == 0) continue;
    const auto c = of(sample);
    sums[c] += sample.latency / cycles_per_ns;
    counts[c] += 1;
  }
  for (std::size_t c = 0; c < sums.size(); ++c) {
    if (counts[c] > 0) sums[c] /= counts[c];
  }
  return sums;
}

}  // namespace thermocline
