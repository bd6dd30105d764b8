#include "estimator/access_classes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "estimator/access_cost.h"
#include "estimator/sample_order.h"

namespace thermocline {
namespace {

constexpr Bytes kBlock = 2 * 1024 * 1024;  // by which a class's reach is told
// Of samples with a near predecessor, so many must lie on one side of it, and
// so many times nearer than by chance. What is kFar times the median away goes
// on from elsewhere.
constexpr double kOneSided = 0.85;
constexpr double kNearer = 2;
constexpr double kFar = 20;

bool is_store(const Sample& sample) { return sample.access == Access::kStore; }

// How far the samples of a class lie from the nearest one before them, and
// over how much memory.
struct Advance {
  std::vector<double> way;    // upward positive
  std::vector<double> turns;  // for each way, samples of the class since
  std::set<Address> blocks;
};

double median_way(const std::vector<double>& way) {
  std::vector<double> values;
  values.reserve(way.size());
  for (const double one : way) values.push_back(std::abs(one));
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// `rivals`: how many earlier samples there are to be near by chance.
void judge(const Advance& advance, double rivals, AccessClass& out) {
  if (advance.way.size() < AccessClasses::kFewest / 2) return;
  const double median = median_way(advance.way);
  // Of so many addresses at random, the median of the nearest one's distance.
  const double reach = static_cast<double>(advance.blocks.size() * kBlock);
  const double chance = reach * std::log(2.0) / (2 * rivals);
  double near = 0, upward = 0;
  for (const double way : advance.way) {
    if (std::abs(way) > 4 * median) continue;
    near += 1;
    upward += way > 0 ? 1 : 0;
  }
  const double side = std::max(upward, near - upward) / near;
  if (side < kOneSided || median * kNearer > chance) return;
  out.sequential = true;
  out.upward = 2 * upward > near;
  out.reach = kFar * median;
  double gone = 0, at_once = 0, followed = 0;
  for (std::size_t i = 0; i < advance.way.size(); ++i) {
    if (!out.follows(advance.way[i])) continue;
    gone += std::abs(advance.way[i]);
    at_once += advance.turns[i] <= 1 ? 1 : 0;
    followed += 1;
  }
  // By chance, the sample before is of the same stream once in so many times.
  out.streams = followed / std::max(at_once, 1.0);
  const double lines = gone / static_cast<double>(advance.way.size());
  out.lines = std::max(1.0, lines / (kLineBytes * out.period));
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
    classes_.push_back({.store = key.second, .back = key.second ? 1.0 : 0.0});
  }
  classes_.push_back({.store = false});
  classes_.push_back({.store = true, .back = 1});
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

std::size_t AccessClasses::of(Address ip, Access access) const {
  const bool store = access == Access::kStore;
  const auto& by_instruction = store ? stores_ : loads_;
  const auto at = by_instruction.find(ip);
  if (at != by_instruction.end()) return at->second;
  return classes_.size() - (store ? 1 : 2);
}

std::vector<std::uint32_t> AccessClasses::of_samples(const Trace& trace) const {
  std::vector<std::uint32_t> out;
  out.reserve(trace.samples.size());
  for (const Sample& sample : trace.samples) {
    out.push_back(static_cast<std::uint32_t>(of(sample)));
  }
  return out;
}

void AccessClasses::look_at_order(const Trace& trace) {
  const auto of_sample = of_samples(trace);
  judge_order(trace, of_sample);
  // An instruction that reads many arrays in turns shows in more of its samples
  // only; but more of them may reach back to the pass before.
  for (AccessClass& what : classes_) {
    if (!what.sequential) what.look_back = kMostLookBackOwn;
  }
  judge_order(trace, of_sample);
}

void AccessClasses::judge_order(const Trace& trace,
                                std::span<const std::uint32_t> of_sample) {
  const auto before = nearest_before(trace, of_sample, look_backs());
  std::vector<Advance> advances(classes_.size());
  std::map<Address, std::size_t> loads, stores;         // samples by block
  std::vector<double> number(trace.samples.size(), 0);  // among its class
  std::vector<double> seen(classes_.size(), 0);
  for (std::size_t s = 0; s < trace.samples.size(); ++s) {
    auto& advance = advances[of_sample[s]];
    const Sample& sample = trace.samples[s];
    advance.blocks.insert(sample.address / kBlock);
    ++(is_store(sample) ? stores : loads)[sample.address / kBlock];
    number[s] = seen[of_sample[s]]++;
    if (before[s] == kNoSample) continue;
    advance.way.push_back(way_between(trace.samples[before[s]], sample));
    advance.turns.push_back(of_sample[before[s]] == of_sample[s]
                                ? number[s] - number[before[s]]
                                : 1);
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const auto& of_kind = classes_[c].store ? stores : loads;
    double there = 0, all = 1;
    for (const auto& [block, samples] : of_kind) {
      const auto count = static_cast<double>(samples);
      all += count;
      if (advances[c].blocks.contains(block)) there += count;
    }
    const double since = all / static_cast<double>(advances[c].way.size() + 1);
    const double others = std::min<double>(kLookBack, since) * there / all;
    judge(advances[c], static_cast<double>(classes_[c].look_back) + others,
          classes_[c]);
  }
}

std::vector<std::size_t> AccessClasses::look_backs() const {
  std::vector<std::size_t> out;
  for (const AccessClass& what : classes_) out.push_back(what.look_back);
  return out;
}

std::vector<double> AccessClasses::waited_ns(const Trace& trace,
                                             double cycles_per_ns) const {
  std::vector<double> waited(classes_.size(), 0), accesses = waited;
  bool told = false;
  for (const Sample& sample : trace.samples) {
    const auto c = of(sample);
    const double period = std::max(sample.period, 1U);
    waited[c] += period * sample.retire_latency / cycles_per_ns;
    accesses[c] += period;
    told |= sample.retire_latency != 0;
  }
  for (std::size_t c = 0; c < waited.size(); ++c) {
    waited[c] = told && accesses[c] > 0 ? waited[c] / accesses[c] : -1;
  }
  return waited;
}

std::vector<Latencies> AccessClasses::latencies(const Trace& trace,
                                                double cycles_per_ns) const {
  std::vector<Latencies> out(classes_.size());
  for (const Sample& sample : trace.samples) {
    if (sample.latency == 0) continue;
    out[of(sample)].add(sample.latency / cycles_per_ns);
  }
  return out;
}

}  // namespace thermocline
