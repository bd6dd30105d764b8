#include "traces/summary.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "traces/result.h"

namespace thermocline {

Summary summarise(const Trace& trace) {
  Summary summary;
  for (const auto& sample : trace.samples) {
    ++(sample.access == Access::kStore ? summary.stores : summary.loads);
  }
  summary.lost = trace.lost();
  summary.footprint = footprint_bytes(trace);
  summary.peak_live = peak_live_bytes(trace);
  return summary;
}

std::vector<PeriodRange> period_ranges(const Trace& trace) {
  std::vector<PeriodRange> ranges;
  for (const auto& [time, event, period] : trace.periods) {
    auto at = std::find_if(
        ranges.begin(), ranges.end(),
        [&name = event](const PeriodRange& one) { return one.event == name; });
    if (at == ranges.end()) {
      ranges.push_back({event, period, period, period, period, 0});
      continue;
    }
    at->changes += period != at->last ? 1 : 0;
    at->last = period;
    at->shortest = std::min(at->shortest, period);
    at->longest = std::max(at->longest, period);
  }
  return ranges;
}

Bytes peak_live_bytes(const Trace& trace) {
  // Bytes that come and, before them, bytes that go at the same instant. The
  // sums wrap, so that an absurd file gives absurd figures and no overflow.
  using Change = std::pair<std::pair<Nanos, bool>, Bytes>;
  std::vector<Change> changes;
  for (const auto& tensor : trace.tensors) {
    const bool dies = tensor.died != -1;
    if (dies && tensor.died <= tensor.born) continue;
    changes.push_back({{tensor.born, true}, tensor.bytes});
    if (dies) changes.push_back({{tensor.died, false}, tensor.bytes});
  }
  std::sort(changes.begin(), changes.end());
  Bytes live = 0;
  Bytes peak = 0;
  for (const auto& [when, bytes] : changes) {
    live += when.second ? bytes : 0 - bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

Bytes footprint_bytes(const Trace& trace) {
  CHECK(std::has_single_bit(trace.info.page_bytes));
  const int shift = std::countr_zero(trace.info.page_bytes);
  std::vector<Address> pages;
  pages.reserve(trace.samples.size());
  for (const auto& sample : trace.samples) {
    pages.push_back(sample.address >> shift);
  }
  std::sort(pages.begin(), pages.end());
  const auto end = std::unique(pages.begin(), pages.end());
  return static_cast<Bytes>(end - pages.begin()) << shift;
}

}  // namespace thermocline
