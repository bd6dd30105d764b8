#include "daemon/totals.h"

namespace thermocline {

Bytes MoveTotals::moved_bytes() const {
  Bytes sum = 0;
  for (const auto& [direction, bytes] : moved) sum += bytes;
  return sum;
}

void MoveTotals::add(const MoveTotals& other) {
  decided += other.decided;
  admitted += other.admitted;
  admitted_bytes += other.admitted_bytes;
  extents += other.extents;
  for (const auto& [direction, bytes] : other.moved) moved[direction] += bytes;
  dragged += other.dragged;
  for (const auto& [reason, pages] : other.failed) failed[reason] += pages;
  for (std::size_t i = 0; i < kRefusals; ++i) refused[i] += other.refused[i];
  calls_ns += other.calls_ns;
}

void SampleTotals::add(const SampleTotals& other) {
  samples += other.samples;
  cached += other.cached;
  foreign += other.foreign;
  kernel += other.kernel;
  lost += other.lost;
  throttled += other.throttled;
  malformed += other.malformed;
  for (const auto& [name, theirs] : other.events) {
    EventTotals* const ours = event(name);
    if (ours == nullptr) continue;
    ours->lost += theirs.lost;
    ours->throttled += theirs.throttled;
    if (theirs.period != 0) ours->period = theirs.period;
  }
}

void SampleTotals::add(const SampleBatch& batch) {
  lost += batch.lost;
  throttled += batch.throttled;
  malformed += batch.malformed;
  for (const auto& one : batch.shortfalls) {
    if (EventTotals* const at = event(one.event)) {
      at->lost += one.lost;
      at->throttled += one.throttled;
    }
  }
  for (const auto& change : batch.periods) {
    if (EventTotals* const at = event(change.event)) at->period = change.period;
  }
}

// Its totals, or nullptr where there are too many.
EventTotals* SampleTotals::event(const std::string& name) {
  const auto at = events.find(name);
  if (at != events.end()) return &at->second;
  return events.size() < kMostEvents ? &events[name] : nullptr;
}

Bytes TargetReport::footprint() const {
  Bytes sum = 0;
  for (const auto bytes : bytes_by_tier) sum += bytes;
  return sum;
}

double TargetReport::fast_share() const {
  const Bytes all = footprint();
  if (all == 0) return 0;
  return static_cast<double>(bytes_by_tier[0]) / static_cast<double>(all);
}

}  // namespace thermocline
