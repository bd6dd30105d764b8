#include "estimator/link_readings.h"

#include <algorithm>
#include <map>
#include <optional>

namespace thermocline {
namespace {

std::optional<std::uint32_t> busiest_cpu(const Trace& trace) {
  std::map<std::uint32_t, std::size_t> samples_of;
  for (const Sample& sample : trace.samples) ++samples_of[sample.cpu];
  const auto most = std::max_element(
      samples_of.begin(), samples_of.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == samples_of.end()) return {};
  return most->first;
}

std::uint64_t at(const std::vector<std::uint64_t>& tiers, std::size_t tier) {
  return tier < tiers.size() ? tiers[tier] : 0;
}

double gone(const std::vector<std::uint64_t>& now,
            const std::vector<std::uint64_t>& before, std::size_t tier) {
  const auto a = at(now, tier), b = at(before, tier);
  return a > b ? static_cast<double>(a - b) : 0;
}

std::size_t busiest_tier(const Counters& first, const Counters& last) {
  std::size_t most = 0;
  for (std::size_t t = 1; t < last.lines_read.size(); ++t) {
    if (gone(last.lines_read, first.lines_read, t) >
        gone(last.lines_read, first.lines_read, most)) {
      most = t;
    }
  }
  return most;
}

}  // namespace

std::vector<LinkReading> link_readings(const Trace& trace,
                                       std::size_t samples) {
  const auto cpu = busiest_cpu(trace);
  std::vector<const Counters*> counters;
  for (const Counters& one : trace.counters) {
    if (one.cpu == cpu && !one.lines_read.empty()) counters.push_back(&one);
  }
  std::vector<LinkReading> out;
  if (counters.empty()) return out;
  const std::size_t tier = busiest_tier(*counters.front(), *counters.back());
  const Counters* before = nullptr;
  std::size_t s = 0, first = 0;
  for (const Counters* now : counters) {
    while (s < trace.samples.size() && trace.samples[s].time < now->time) ++s;
    if (before != nullptr && s - first < samples) continue;
    if (before != nullptr) {
      out.push_back({first, s, gone(now->lines_read, before->lines_read, tier),
                     gone(now->lines_written, before->lines_written, tier)});
    }
    before = now;
    first = s;
  }
  return out;
}

}  // namespace thermocline
