#include "estimator/work_axis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace thermocline {
namespace {

std::uint32_t busiest_cpu(const Trace& trace) {
  std::map<std::uint32_t, std::uint64_t> samples;
  for (const Sample& sample : trace.samples) ++samples[sample.cpu];
  const auto most = std::max_element(
      samples.begin(), samples.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == samples.end() ? 0 : most->first;
}

std::optional<WorkAxis> by_instructions(const Trace& trace) {
  const std::uint32_t cpu = busiest_cpu(trace);
  WorkAxis axis;
  for (const Counters& counters : trace.counters) {
    if (counters.cpu != cpu) continue;
    const auto work = static_cast<double>(counters.instructions);
    // A counter that was reset is no axis.
    if (!axis.points.empty() && work < axis.points.back().work) return {};
    axis.points.push_back({counters.time, work});
  }
  if (axis.points.size() < 2) return {};
  const Nanos start = trace.start_ns();
  const Nanos end = start + trace.run_ns();
  // Counters may begin before the job and outlive it.
  WorkAxis clipped;
  clipped.points.push_back(
      {std::max(start, axis.points.front().time), axis.work_at(start)});
  for (const auto& point : axis.points) {
    if (point.time > start && point.time < end) clipped.points.push_back(point);
  }
  clipped.points.push_back(
      {std::min(end, axis.points.back().time), axis.work_at(end)});
  if (clipped.total() <= 0) return {};
  return clipped;
}

WorkAxis by_access_index(const Trace& trace) {
  WorkAxis axis;
  axis.by_access = true;
  double work = 0;
  axis.points.push_back({trace.samples.front().time, 0});
  for (const Sample& sample : trace.samples) {
    work += std::max(sample.period, 1U);
    axis.points.push_back({sample.time, work});
  }
  return axis;
}

}  // namespace

double WorkAxis::work_at(Nanos time) const {
  const auto next = std::upper_bound(
      points.begin(), points.end(), time,
      [](Nanos t, const Point& point) { return t < point.time; });
  if (next == points.begin()) return points.front().work;
  if (next == points.end()) return points.back().work;
  const Point& before = *(next - 1);
  if (by_access) return before.work;  // a whole number of accesses
  const double part = static_cast<double>(time - before.time) /
                      static_cast<double>(next->time - before.time);
  return before.work + part * (next->work - before.work);
}

Nanos WorkAxis::time_at(double work) const {
  const auto next = std::lower_bound(
      points.begin(), points.end(), work,
      [](const Point& point, double w) { return point.work < w; });
  if (next == points.begin()) return points.front().time;
  if (next == points.end()) return points.back().time;
  const Point& before = *(next - 1);
  const double part = (work - before.work) / (next->work - before.work);
  return before.time +
         std::llround(part * static_cast<double>(next->time - before.time));
}

std::vector<WorkAxis> work_axes(std::span<const Trace* const> runs) {
  std::vector<WorkAxis> out;
  for (const Trace* run : runs) {
    auto axis = by_instructions(*run);
    if (!axis) break;
    out.push_back(*std::move(axis));
  }
  if (out.size() == runs.size()) return out;
  out.clear();
  for (const Trace* run : runs) out.push_back(by_access_index(*run));
  return out;
}

}  // namespace thermocline
