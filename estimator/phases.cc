#include "estimator/phases.h"

#include <algorithm>
#include <cmath>

#include "estimator/rate_changes.h"
#include "estimator/work_axis.h"

namespace thermocline {
namespace {

// How far apart, as shares of the work, two runs may see one change: what is
// sampled of a phase differs between memories (on KNL by up to 1.5 times).
constexpr double kNearInstructions = 0.1;
constexpr double kNearAccesses = 0.25;

const char kRemedy[] = "; --phases none takes the job as one phase";

using Instants = std::vector<Nanos>;

std::vector<Mark> marks_of(const Trace& trace) {
  std::vector<Mark> out;
  for (const Mark& mark : trace.marks) {
    if (mark.name != "start" && mark.name != "end") out.push_back(mark);
  }
  return out;
}

// "step" of "step 3"; all of a name without a number.
std::string without_number(const std::string& name) {
  const auto last = name.find_last_not_of("0123456789");
  if (last == std::string::npos) return name;
  const auto end = name.find_last_not_of(" _:#", last);
  return end == std::string::npos ? name : name.substr(0, end + 1);
}

Status check_marks(const std::vector<Mark>& a, const std::vector<Mark>& b,
                   const std::string& a_name, const std::string& b_name) {
  const auto name = [](const std::vector<Mark>& marks, std::size_t i) {
    return i < marks.size() ? "\"" + marks[i].name + "\"" : "none";
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (name(a, i) == name(b, i)) continue;
    return invalid("the runs passed different marks: mark " +
                   std::to_string(i + 1) + " of " + std::to_string(a.size()) +
                   " of the " + a_name + " run is " + name(a, i) + ", of " +
                   std::to_string(b.size()) + " of the " + b_name + " run " +
                   name(b, i) + kRemedy);
  }
  return {};
}

Nanos end_of(const Trace& trace) { return trace.start_ns() + trace.run_ns(); }

// The phases that begin at the marks of these numbers.
std::vector<Instants> pinned(const Trace& trace, const std::vector<Mark>& marks,
                             const std::vector<std::size_t>& first) {
  std::vector<Instants> out{{trace.start_ns()}};
  const Nanos end = end_of(trace);
  auto next = first.begin();
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Nanos at = std::clamp(marks[i].time, out.back().back(), end);
    out.back().push_back(at);
    if (next == first.end() || *next != i) continue;
    ++next;
    out.push_back({at});
  }
  out.back().push_back(end);
  return out;
}

Phases by_marks(std::span<const NamedRun> runs,
                const std::vector<std::vector<Mark>>& marks, bool split) {
  Phases out;
  std::vector<std::size_t> first;
  if (split && !marks[0].empty()) {
    out.names.emplace_back("before the first mark");
    for (std::size_t i = 0; i < marks[0].size(); ++i) {
      auto name = without_number(marks[0][i].name);
      if (i > 0 && name == out.names.back()) continue;
      first.push_back(i);
      out.names.push_back(std::move(name));
    }
  } else {
    out.names.emplace_back("all");
  }
  for (std::size_t r = 0; r < runs.size(); ++r) {
    out.pins.push_back(pinned(*runs[r].trace, marks[r], first));
  }
  return out;
}

// What a run's changes are compared by.
struct Seen {
  std::vector<RateChange> changes;
  std::vector<double> shares;  // of the work, by change
};

std::size_t clear_ones(const Seen& seen) {
  return static_cast<std::size_t>(
      std::count_if(seen.changes.begin(), seen.changes.end(),
                    [](const RateChange& change) { return change.clear(); }));
}

// For each change of `a` the one of `b` that it is, or kNone; in order, so that
// the largest find their like, and the nearest.
constexpr std::size_t kNone = ~std::size_t{0};
std::vector<std::size_t> pair_up(const Seen& a, const Seen& b, double near) {
  const std::size_t rows = a.shares.size(), columns = b.shares.size();
  const auto worth = [&](std::size_t i, std::size_t j) {
    const double off = std::abs(a.shares[i] - b.shares[j]);
    const double factor = std::min(a.changes[i].factor, b.changes[j].factor);
    return off <= near ? (2 - off / near) * std::log(factor) : 0;
  };
  // best[i][j]: of the first i and the first j.
  std::vector<std::vector<double>> best(rows + 1,
                                        std::vector<double>(columns + 1, 0));
  for (std::size_t i = 1; i <= rows; ++i) {
    for (std::size_t j = 1; j <= columns; ++j) {
      best[i][j] = std::max({best[i - 1][j], best[i][j - 1],
                             best[i - 1][j - 1] + worth(i - 1, j - 1)});
    }
  }
  std::vector<std::size_t> out(rows, kNone);
  std::size_t i = rows, j = columns;
  while (i > 0 && j > 0) {
    if (best[i][j] == best[i - 1][j]) {
      --i;
    } else if (best[i][j] == best[i][j - 1]) {
      --j;
    } else {
      out[--i] = --j;
    }
  }
  return out;
}

Error disagree(const NamedRun& a, const NamedRun& b, const Seen& in_a,
               const Seen& in_b) {
  const auto times = [](const NamedRun& run, const Seen& seen) {
    std::string text =
        std::to_string(clear_ones(seen)) + " in the " + run.name + " run";
    std::string at;
    for (std::size_t i = 0; i < seen.changes.size(); ++i) {
      if (!seen.changes[i].clear()) continue;
      at += (at.empty() ? " (at " : ", ") +
            std::to_string(std::lround(seen.shares[i] * 100)) + " %";
    }
    return text + (at.empty() ? "" : at + " of its work)");
  };
  return invalid(
      "the runs do not go through the same phases: clear changes of "
      "the sample rate are " +
      times(a, in_a) + " and " + times(b, in_b) + kRemedy);
}

std::string rate_name(std::size_t phase, std::size_t phases) {
  return "phase " + std::to_string(phase + 1) + " of " +
         std::to_string(phases) + " by rate";
}

std::vector<Seen> look_at(const std::vector<const Trace*>& traces,
                          const std::vector<WorkAxis>& axes) {
  std::vector<Seen> seen(traces.size());
  for (std::size_t r = 0; r < traces.size(); ++r) {
    seen[r].changes = rate_changes(*traces[r]);
    for (const RateChange& change : seen[r].changes) {
      seen[r].shares.push_back(axes[r].share_at(change.at));
    }
  }
  return seen;
}

// Where instructions tell what point of one run is what point of another, a
// change that is clear in any run is one of the job: memory may pace a run so
// that its rate hides it. Shares of the work, in order.
std::vector<double> shares_of_any(const std::vector<Seen>& seen) {
  Seen all = seen[0];
  std::vector<double> runs(all.shares.size(), 1);  // that have it
  for (std::size_t r = 1; r < seen.size(); ++r) {
    const auto same = pair_up(all, seen[r], kNearInstructions);
    std::vector<bool> met(seen[r].shares.size(), false);
    for (std::size_t i = 0; i < same.size(); ++i) {
      if (same[i] == kNone) continue;
      met[same[i]] = true;
      const RateChange& other = seen[r].changes[same[i]];
      if (other.clear()) all.changes[i] = other;
      all.shares[i] =
          (all.shares[i] * runs[i] + seen[r].shares[same[i]]) / (runs[i] + 1);
      runs[i] += 1;
    }
    for (std::size_t j = 0; j < met.size(); ++j) {
      if (met[j]) continue;
      const auto at = std::upper_bound(all.shares.begin(), all.shares.end(),
                                       seen[r].shares[j]) -
                      all.shares.begin();
      all.shares.insert(all.shares.begin() + at, seen[r].shares[j]);
      all.changes.insert(all.changes.begin() + at, seen[r].changes[j]);
      runs.insert(runs.begin() + at, 1);
    }
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (all.changes[i].clear() || runs[i] == static_cast<double>(seen.size())) {
      out.push_back(all.shares[i]);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The first run's changes that all runs have; for each run, which ones there.
// Errors: a clear one that another run has no counterpart to.
Result<std::vector<std::vector<std::size_t>>> common_changes(
    std::span<const NamedRun> runs, const std::vector<Seen>& seen) {
  std::vector<std::vector<std::size_t>> same;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    same.push_back(pair_up(seen[0], seen[r], kNearAccesses));
    std::vector<bool> met(seen[r].changes.size(), false);
    bool agree = true;
    for (std::size_t i = 0; i < same[r].size(); ++i) {
      if (same[r][i] != kNone) {
        met[same[r][i]] = true;
      } else {
        agree = agree && !seen[0].changes[i].clear();
      }
    }
    for (std::size_t j = 0; j < met.size(); ++j) {
      agree = agree && (met[j] || !seen[r].changes[j].clear());
    }
    if (!agree) return disagree(runs[0], runs[r], seen[0], seen[r]);
  }
  std::vector<std::vector<std::size_t>> out(runs.size());
  for (std::size_t i = 0; i < seen[0].changes.size(); ++i) {
    if (std::any_of(same.begin(), same.end(),
                    [i](const auto& one) { return one[i] == kNone; })) {
      continue;
    }
    for (std::size_t r = 0; r < runs.size(); ++r) out[r].push_back(same[r][i]);
  }
  return out;
}

Result<Phases> by_rate(std::span<const NamedRun> runs) {
  std::vector<const Trace*> traces;
  for (const NamedRun& run : runs) traces.push_back(run.trace);
  const auto axes = work_axes(traces);
  const auto seen = look_at(traces, axes);
  std::vector<Instants> cuts(runs.size());
  if (axes[0].by_access) {
    const auto common = common_changes(runs, seen);
    if (!common) return common.error();
    for (std::size_t r = 0; r < runs.size(); ++r) {
      for (const std::size_t i : (*common)[r]) {
        cuts[r].push_back(seen[r].changes[i].at);
      }
    }
  } else {
    for (const double share : shares_of_any(seen)) {
      for (std::size_t r = 0; r < runs.size(); ++r) {
        cuts[r].push_back(axes[r].time_at(axes[r].points.front().work +
                                          share * axes[r].total()));
      }
    }
  }
  Phases out;
  const std::size_t phases = cuts[0].size() + 1;
  for (std::size_t p = 0; p < phases; ++p) {
    out.names.push_back(phases == 1 ? "all" : rate_name(p, phases));
  }
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const Nanos end = end_of(*traces[r]);
    std::vector<Instants> pins{{traces[r]->start_ns()}};
    for (const Nanos cut : cuts[r]) {
      pins.back().push_back(std::clamp(cut, pins.back().back(), end));
      pins.push_back({pins.back().back()});
    }
    pins.back().push_back(end);
    out.pins.push_back(std::move(pins));
  }
  return out;
}

}  // namespace

Result<Phases> match_phases(std::span<const NamedRun> runs, bool split) {
  CHECK(!runs.empty());
  std::vector<std::vector<Mark>> marks;
  bool any = false;
  Status same;
  for (const NamedRun& run : runs) {
    marks.push_back(marks_of(*run.trace));
    any = any || !marks.back().empty();
    if (!same) continue;
    same = check_marks(marks.front(), marks.back(), runs[0].name, run.name);
  }
  if (split && !same) return same.error();
  if (split && !any) return by_rate(runs);
  if (!same) {
    for (auto& list : marks) list.clear();
  }
  return by_marks(runs, marks, split);
}

}  // namespace thermocline
