#include "estimator/windows.h"

#include <algorithm>
#include <utility>

#include "estimator/work_axis.h"

namespace thermocline {
namespace {

// Keeps `segments` of the segments between anchors, evenly.
std::vector<Nanos> thin(const std::vector<Nanos>& at, std::size_t segments) {
  if (at.size() - 1 <= segments) return at;
  std::vector<Nanos> out;
  for (std::size_t s = 0; s <= segments; ++s) {
    out.push_back(at[s * (at.size() - 1) / segments]);
  }
  return out;
}

// Share of the work between the first and the last instant that is in each
// segment, in the mean over the runs.
std::vector<double> segment_shares(std::span<const WorkAxis> axes,
                                   const std::vector<std::vector<Nanos>>& at) {
  std::vector<double> shares(at[0].size() - 1, 0);
  for (std::size_t r = 0; r < axes.size(); ++r) {
    const double all =
        axes[r].work_at(at[r].back()) - axes[r].work_at(at[r].front());
    if (all <= 0) continue;
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const double work =
          axes[r].work_at(at[r][s + 1]) - axes[r].work_at(at[r][s]);
      shares[s] += work / all / static_cast<double>(axes.size());
    }
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

void assign_samples(const Trace& trace, const WorkAxis& axis,
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

WindowCuts cut(const Trace& trace, const WorkAxis& axis,
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

RunCuts cut_runs(std::span<const Trace* const> runs, const Phases& phases,
                 std::size_t windows) {
  const auto axes = work_axes(runs);
  const std::size_t count = phases.names.size();
  std::vector<std::vector<Nanos>> bounds(runs.size());
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const auto& pins : phases.pins[r]) bounds[r].push_back(pins.front());
    bounds[r].push_back(phases.pins[r].back().back());
  }
  const auto per_phase =
      allot(segment_shares(axes, bounds), std::max(windows, count));
  // All segments between pins, phase after phase.
  std::vector<std::vector<Nanos>> at(runs.size());
  std::vector<std::size_t> per_segment;
  RunCuts out;
  for (std::size_t p = 0; p < count; ++p) {
    std::vector<std::vector<Nanos>> pins;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      pins.push_back(thin(phases.pins[r][p], per_phase[p]));
      at[r].insert(at[r].end(), pins[r].begin(), pins[r].end() - 1);
    }
    const auto here = allot(segment_shares(axes, pins), per_phase[p]);
    per_segment.insert(per_segment.end(), here.begin(), here.end());
    out.phase_ends.push_back((p > 0 ? out.phase_ends.back() : 0) +
                             per_phase[p]);
  }
  for (std::size_t r = 0; r < runs.size(); ++r) {
    at[r].push_back(bounds[r].back());
    out.runs.push_back(cut(*runs[r], axes[r], at[r], per_segment));
  }
  return out;
}

}  // namespace thermocline
