#include "estimator/counter_readings.h"

#include <algorithm>
#include <map>
#include <optional>

#include "traces/whole_machine.h"

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

double gone(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

double gone(const std::vector<std::uint64_t>& now,
            const std::vector<std::uint64_t>& before, std::size_t tier) {
  const bool told = tier < now.size() && tier < before.size();
  return told ? gone(now[tier], before[tier]) : 0;
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

std::vector<CounterReading> counter_readings(const Trace& trace,
                                             std::size_t samples) {
  const auto cpu = busiest_cpu(trace);
  std::vector<const Counters*> counters;
  for (const auto of : {cpu, std::optional(kWholeMachine)}) {
    if (!counters.empty()) break;
    for (const Counters& one : trace.counters) {
      if (one.cpu == of) counters.push_back(&one);
    }
  }
  std::vector<CounterReading> out;
  if (counters.empty()) return out;
  const std::size_t tier = busiest_tier(*counters.front(), *counters.back());
  const Counters* before = nullptr;
  std::size_t s = 0, first = 0;
  for (const Counters* now : counters) {
    while (s < trace.samples.size() && trace.samples[s].time < now->time) ++s;
    if (before != nullptr && s - first < samples) continue;
    if (before != nullptr) {
      out.push_back({first, s, gone(now->instructions, before->instructions),
                     gone(now->cycles, before->cycles),
                     gone(now->stall_cycles, before->stall_cycles),
                     !now->lines_read.empty() && !before->lines_read.empty(),
                     gone(now->lines_read, before->lines_read, tier),
                     gone(now->lines_written, before->lines_written, tier)});
    }
    before = now;
    first = s;
  }
  return out;
}

}  // namespace thermocline
