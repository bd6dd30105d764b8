#include "estimator/waits.h"

#include <algorithm>

namespace thermocline {
namespace {

bool told(const Trace& trace) {
  return std::any_of(
      trace.samples.begin(), trace.samples.end(),
      [](const Sample& sample) { return sample.retire_latency != 0; });
}

// Adds what one run waited, by window and object, to one of the two sums.
void add_run(const TierRun& run, const RegionMap& regions,
             double ObjectWait::*sum,
             std::vector<std::vector<ObjectWait>>& out) {
  const auto& samples = run.trace->samples;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample& sample = samples[s];
    const auto object = regions.find(sample.address);
    if (!object || sample.retire_latency == 0) continue;
    ObjectWait one{*object, 0, 0};
    one.*sum = static_cast<double>(std::max(sample.period, 1U)) *
               static_cast<double>(sample.retire_latency);
    out[run.cuts->of_sample[s]].push_back(one);
  }
}

}  // namespace

std::vector<std::vector<ObjectWait>> object_waits(const TierRun& slow,
                                                  const TierRun& fast,
                                                  const RegionMap& regions) {
  if (!told(*slow.trace) || !told(*fast.trace)) return {};
  std::vector<std::vector<ObjectWait>> out(slow.cuts->at.size() - 1);
  add_run(slow, regions, &ObjectWait::slow, out);
  add_run(fast, regions, &ObjectWait::fast, out);
  for (auto& window : out) {
    std::stable_sort(
        window.begin(), window.end(),
        [](const auto& a, const auto& b) { return a.object < b.object; });
    std::size_t end = 0;
    for (const ObjectWait& one : window) {
      if (end == 0 || window[end - 1].object != one.object) {
        window[end++] = one;
        continue;
      }
      window[end - 1].slow += one.slow;
      window[end - 1].fast += one.fast;
    }
    window.resize(end);
  }
  return out;
}

}  // namespace thermocline
