#include "estimator/windows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

namespace thermocline {
namespace {

// Work done up to a time, as a polyline that never falls.
struct Axis {
  struct Point {
    Nanos time;
    double work;
  };
  std::vector<Point> points;
  bool by_access = false;

  double work_at(Nanos time) const;
  Nanos time_at(double work) const;
  double total() const { return points.back().work - points.front().work; }
};

double Axis::work_at(Nanos time) const {
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

Nanos Axis::time_at(double work) const {
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

std::uint32_t busiest_cpu(const Trace& trace) {
  std::map<std::uint32_t, std::uint64_t> samples;
  for (const Sample& sample : trace.samples) ++samples[sample.cpu];
  const auto most = std::max_element(
      samples.begin(), samples.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == samples.end() ? 0 : most->first;
}

std::optional<Axis> instruction_axis(const Trace& trace) {
  const std::uint32_t cpu = busiest_cpu(trace);
  Axis axis;
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
  Axis clipped;
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

Axis access_axis(const Trace& trace) {
  Axis axis;
  axis.by_access = true;
  double work = 0;
  axis.points.push_back({trace.samples.front().time, 0});
  for (const Sample& sample : trace.samples) {
    work += std::max(sample.period, 1U);
    axis.points.push_back({sample.time, work});
  }
  return axis;
}

// The instants that no window may span: start, shared marks, end.
std::vector<Nanos> anchors(const Trace& trace, bool use_marks) {
  const Nanos start = trace.start_ns();
  const Nanos end = start + trace.run_ns();
  std::vector<Nanos> at{start};
  for (const Mark& mark : trace.marks) {
    if (!use_marks || mark.name == "start" || mark.name == "end") continue;
    at.push_back(std::clamp(mark.time, at.back(), end));
  }
  at.push_back(end);
  return at;
}

bool same_marks(const Trace& a, const Trace& b) {
  return std::equal(
      a.marks.begin(), a.marks.end(), b.marks.begin(), b.marks.end(),
      [](const Mark& x, const Mark& y) { return x.name == y.name; });
}

// Keeps `segments` of the segments between anchors, evenly.
std::vector<Nanos> thin(const std::vector<Nanos>& at, std::size_t segments) {
  if (at.size() - 1 <= segments) return at;
  std::vector<Nanos> out;
  for (std::size_t s = 0; s <= segments; ++s) {
    out.push_back(at[s * (at.size() - 1) / segments]);
  }
  return out;
}

// Share of the axis' work in each segment between anchors.
std::vector<double> segment_shares(const Axis& axis,
                                   const std::vector<Nanos>& at) {
  std::vector<double> shares;
  for (std::size_t s = 0; s + 1 < at.size(); ++s) {
    const double work = axis.work_at(at[s + 1]) - axis.work_at(at[s]);
    shares.push_back(work / axis.total());
  }
  return shares;
}

// One window for every segment, the rest by share (largest remainder).
std::vector<std::size_t> allot(const std::vector<double>& shares,
                               std::size_t windows) {
  std::vector<std::size_t> out(shares.size(), 1);
  const auto rest = static_cast<double>(windows - shares.size());
  std::vector<std::pair<double, std::size_t>> remainders;
  std::size_t given = shares.size();
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const double want = std::max(0.0, shares[s] * rest);
    const auto whole =
        std::min(static_cast<std::size_t>(want), windows - given);
    out[s] += whole;
    given += whole;
    remainders.emplace_back(static_cast<double>(whole) - want, s);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < windows; ++i, ++given) {
    ++out[remainders[i % remainders.size()].second];
  }
  return out;
}

void assign_samples(const Trace& trace, const Axis& axis,
                    const std::vector<double>& targets, WindowCuts& cuts) {
  const auto last = static_cast<std::uint32_t>(cuts.at.size() - 2);
  cuts.of_sample.reserve(trace.samples.size());
  std::uint32_t window = 0;
  double work = 0;
  for (const Sample& sample : trace.samples) {
    if (axis.by_access) {
      // By index: samples that share a timestamp (one buffer of the hardware)
      // may lie on both sides of a cut.
      const double middle = work + std::max(sample.period, 1U) * 0.5;
      while (window < last && targets[window + 1] <= middle) ++window;
      work += std::max(sample.period, 1U);
    } else {
      while (window < last && cuts.at[window + 1] <= sample.time) ++window;
    }
    cuts.of_sample.push_back(window);
  }
}

WindowCuts cut(const Trace& trace, const Axis& axis,
               const std::vector<Nanos>& at,
               const std::vector<std::size_t>& per_segment) {
  WindowCuts cuts;
  std::vector<double> targets;
  for (std::size_t s = 0; s + 1 < at.size(); ++s) {
    const double from = axis.work_at(at[s]);
    const double work = axis.work_at(at[s + 1]) - from;
    for (std::size_t k = 0; k < per_segment[s]; ++k) {
      const double target = from + work * static_cast<double>(k) /
                                       static_cast<double>(per_segment[s]);
      targets.push_back(target);
      const Nanos earliest = cuts.at.empty() ? at[s] : cuts.at.back();
      cuts.at.push_back(k == 0 ? at[s]
                               : std::clamp(axis.time_at(target), earliest,
                                            std::max(earliest, at[s + 1])));
    }
  }
  targets.push_back(axis.points.back().work);
  cuts.at.push_back(at.back());
  assign_samples(trace, axis, targets, cuts);
  return cuts;
}

}  // namespace

std::pair<WindowCuts, WindowCuts> cut_pair(const Trace& a, const Trace& b,
                                           std::size_t windows) {
  auto axis_a = instruction_axis(a);
  auto axis_b = instruction_axis(b);
  if (!axis_a || !axis_b) {
    axis_a = access_axis(a);
    axis_b = access_axis(b);
  }
  const bool marks = same_marks(a, b);
  const auto at_a = thin(anchors(a, marks), windows);
  const auto at_b = thin(anchors(b, marks), windows);
  auto shares = segment_shares(*axis_a, at_a);
  const auto shares_b = segment_shares(*axis_b, at_b);
  for (std::size_t s = 0; s < shares.size(); ++s) {
    shares[s] = (shares[s] + shares_b[s]) / 2;
  }
  const auto per_segment = allot(shares, windows);
  return {cut(a, *axis_a, at_a, per_segment),
          cut(b, *axis_b, at_b, per_segment)};
}

WindowCuts cut_one(const Trace& trace, std::size_t windows) {
  return cut_pair(trace, trace, windows).first;
}

}  // namespace thermocline
