#include "training/loops/schedule.h"

#include <algorithm>
#include <functional>

namespace thermocline {
namespace {

using Row = std::vector<std::int64_t>;

std::int64_t product(const Row& row, const Point& p) {
  std::int64_t out = 0;
  for (std::size_t k = 0; k < p.size(); ++k) out += row[k] * p[k];
  return out;
}

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;  // included
};

// What dimensions `from` and later can add to the row's coordinate.
Range reach(const Row& row, const Loop& loop, std::size_t from) {
  Range out;
  for (std::size_t k = from; k < loop.dims(); ++k) {
    const std::int64_t most = row[k] * (loop.extent[k] - 1);
    (most < 0 ? out.low : out.high) += most;
  }
  return out;
}

// Equal lengths for dense loops, about equal numbers of points for sparse ones.
std::vector<std::int64_t> cuts_of(const Loop& loop, const Row& row, int parts) {
  const Range all = reach(row, loop, 0);
  const std::int64_t length = all.high - all.low + 1;
  std::vector<std::int64_t> cuts{all.low};
  std::vector<std::int64_t> sorted;
  for (const Point& p : loop.points) sorted.push_back(product(row, p));
  std::sort(sorted.begin(), sorted.end());
  for (int part = 1; part < parts; ++part) {
    std::int64_t cut = all.low + length * part / parts;
    if (!sorted.empty()) {
      cut = sorted[sorted.size() * static_cast<std::size_t>(part) /
                   static_cast<std::size_t>(parts)];
    }
    cuts.push_back(std::max(cut, cuts.back()));
  }
  cuts.push_back(all.high + 1);
  return cuts;
}

// Calls `take` for each point of the box whose coordinates lie in the ranges,
// in lexicographic order; subtrees that cannot reach them are not entered.
void enumerate(const Loop& loop, const std::vector<Row>& rows,
               const std::vector<Range>& wanted, Point& p,
               std::vector<std::int64_t> at,
               const std::function<void(const Point&)>& take) {
  const std::size_t k = p.size();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Range rest = reach(rows[r], loop, k);
    if (at[r] + rest.high < wanted[r].low || at[r] + rest.low > wanted[r].high)
      return;
  }
  if (k == loop.dims()) return take(p);
  for (std::int64_t i = 0; i < loop.extent[k]; ++i) {
    p.push_back(i);
    enumerate(loop, rows, wanted, p, at, take);
    p.pop_back();
    for (std::size_t r = 0; r < rows.size(); ++r) at[r] += rows[r][k];
  }
}

}  // namespace

Schedule::Schedule(const Loop& loop, const LoopPlan& plan,
                   const ScheduleOptions& options)
    : loop_(loop), plan_(plan), options_(options) {}

Result<Schedule> Schedule::make(const Loop& loop, const LoopPlan& plan,
                                const ScheduleOptions& options) {
  CHECK(options.ranks >= 1 && options.time_parts >= 1);
  if (options.max_delay < 0) {
    return invalid("max_delay is " + std::to_string(options.max_delay) +
                   "; give 0 or more");
  }
  Schedule out(loop, plan, options);
  const int ranks = options.ranks;
  out.space_cuts_ = cuts_of(loop, plan.space, ranks);
  out.share_out_points();
  const auto most = [&] {
    std::int64_t count = 0;
    for (int r = 0; r < ranks; ++r) {
      for (int c = 0; c < out.clocks_; ++c) {
        count = std::max(
            count, static_cast<std::int64_t>(out.tile(r, c).points.size()));
      }
    }
    return count;
  };
  if (plan.time.empty()) {
    if (options.max_delay > 0) {
      out.options_.max_delay = 0;  // to see the uncut tiles
      const std::int64_t count = most();
      out.options_.max_delay = options.max_delay;
      out.clocks_ = static_cast<int>(std::max<std::int64_t>(
          1, (count + options.max_delay - 1) / options.max_delay));
    }
    return out;
  }
  const bool rotates = plan.scheme == Scheme::k2DUnordered;
  const int parts = rotates      ? ranks
                    : ranks == 1 ? 1
                                 : ranks * options.time_parts;
  out.time_cuts_ = cuts_of(loop, plan.time, parts);
  out.clocks_ = rotates ? ranks : ranks + parts - 1;
  if (options.max_delay > 0 && most() > options.max_delay) {
    return invalid("a tile has " + std::to_string(most()) +
                   " iterations, and buffered writes may wait for " +
                   std::to_string(options.max_delay) +
                   " at most; use more time_parts, or a larger max_delay");
  }
  return out;
}

// Else each tile would be looked for among all points, and a rank has as many
// tiles as there are ranks.
void Schedule::share_out_points() {
  if (loop_.points.empty()) return;
  points_of_.resize(space_cuts_.size() - 1);
  for (std::size_t i = 0; i < loop_.points.size(); ++i) {
    const auto after = std::upper_bound(space_cuts_.begin(), space_cuts_.end(),
                                        product(plan_.space, loop_.points[i]));
    points_of_[static_cast<std::size_t>(after - space_cuts_.begin() - 1)]
        .push_back(i);
  }
}

Tile Schedule::part(int space, int time) const {
  const auto range = [](const std::vector<std::int64_t>& cuts, int i) {
    const auto at = static_cast<std::size_t>(i);
    return Range{cuts[at], cuts[at + 1] - 1};
  };
  std::vector<Row> rows{plan_.space};
  std::vector<Range> wanted{range(space_cuts_, space)};
  if (!plan_.time.empty()) {
    rows.push_back(plan_.time);
    wanted.push_back(range(time_cuts_, time));
  }
  Tile out;
  if (loop_.points.empty()) {
    Point p;
    enumerate(loop_, rows, wanted, p, std::vector<std::int64_t>(rows.size(), 0),
              [&out](const Point& one) { out.points.push_back(one); });
    return out;
  }
  for (const std::size_t i : points_of_[static_cast<std::size_t>(space)]) {
    if (!plan_.time.empty()) {
      const std::int64_t at = product(plan_.time, loop_.points[i]);
      if (at < wanted[1].low || at > wanted[1].high) continue;
    }
    out.points.push_back(loop_.points[i]);
    out.which.push_back(i);
  }
  return out;
}

Tile Schedule::tile(int rank, int clock) const {
  CHECK(rank >= 0 && rank < options_.ranks && clock >= 0 && clock < clocks_);
  if (!plan_.time.empty()) {
    const int parts = static_cast<int>(time_cuts_.size()) - 1;
    const bool rotates = plan_.scheme == Scheme::k2DUnordered;
    const int time = rotates ? (clock + rank) % parts : clock - rank;
    return time < 0 || time >= parts ? Tile{} : part(rank, time);
  }
  Tile out = part(rank, 0);
  if (options_.max_delay == 0) return out;
  const auto size = out.points.size();
  const auto step = static_cast<std::size_t>(options_.max_delay);
  const auto first = std::min(size, step * static_cast<std::size_t>(clock));
  const auto last = std::min(size, first + step);
  const auto cut = [&](auto& list) {
    if (list.empty()) return;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(last), list.end());
    list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(first));
  };
  cut(out.points);
  cut(out.which);
  return out;
}

}  // namespace thermocline
