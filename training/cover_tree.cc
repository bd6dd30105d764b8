#include "training/cover_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "traces/result.h"

namespace thermocline {
namespace {

// Cells near each cell of a level, itself among them; numbers from `first`.
std::vector<std::vector<std::size_t>> neighbours_of(
    const std::vector<Cell>& cells, std::size_t first, double reach,
    const CoverTree::Distance& distance) {
  std::vector<std::vector<std::size_t>> out(cells.size() - first);
  for (std::size_t a = first; a < cells.size(); ++a) {
    out[a - first].push_back(a - first);
    for (std::size_t b = first; b < a; ++b) {
      if (distance(cells[a].centre, cells[b].centre) > reach) continue;
      out[a - first].push_back(b - first);
      out[b - first].push_back(a - first);
    }
  }
  return out;
}

std::int64_t largest(const std::vector<std::size_t>& nearest,
                     std::size_t cells) {
  std::vector<std::int64_t> count(cells);
  for (const std::size_t cell : nearest) ++count[cell];
  return *std::ranges::max_element(count);
}

}  // namespace

double CoverTree::radius(int level) const {
  return std::ldexp(root_radius_, -level);
}

CoverTree::CoverTree(std::int64_t count, const Distance& distance, int levels,
                     std::int64_t smallest) {
  CHECK(count > 0 && levels >= 0);
  for (std::int64_t i = 1; i < count; ++i) {
    root_radius_ = std::max(root_radius_, distance(0, i));
  }
  cells_.emplace_back();
  begin_ = {0, 1};
  Nearest nearest(static_cast<std::size_t>(count));
  while (this->levels() <= levels && root_radius_ > 0 &&
         largest(nearest, cells_.size()) > smallest) {
    add_level(distance, nearest);
  }
  fill_cells(nearest);
}

// Two points within r_i of each other have nearest centres of level i - 1 that
// are within 2 r_(i-1) + r_i of each other: only there need be looked.
void CoverTree::add_level(const Distance& distance, Nearest& nearest) {
  const auto first = static_cast<std::size_t>(begin_[begin_.size() - 2]);
  const std::size_t end = cells_.size();
  const int level = levels();
  const double radius = this->radius(level);
  const auto near = neighbours_of(cells_, first, 5 * radius, distance);
  // Centres of this level, by the cell of the last that they are nearest to.
  std::vector<std::vector<std::size_t>> made(end - first);
  const auto found = [&](std::size_t parent, std::int64_t centre) {
    made[parent - first].push_back(cells_.size());
    Cell cell;
    cell.centre = centre;
    cell.level = level;
    cell.parent = static_cast<std::int64_t>(parent);
    cells_.push_back(std::move(cell));
  };
  const auto closest = [&](std::size_t point) {
    std::pair out{std::numeric_limits<double>::infinity(), std::size_t{0}};
    for (const std::size_t around : near[nearest[point] - first]) {
      for (const std::size_t cell : made[around]) {
        const double here =
            distance(static_cast<std::int64_t>(point), cells_[cell].centre);
        out = std::min(out, {here, cell});
      }
    }
    return out;
  };
  for (std::size_t p = first; p < end; ++p) found(p, cells_[p].centre);
  for (std::size_t point = 0; point < nearest.size(); ++point) {
    if (closest(point).first > radius) {
      found(nearest[point], static_cast<std::int64_t>(point));
    }
  }
  Nearest now(nearest.size());
  for (std::size_t point = 0; point < nearest.size(); ++point) {
    now[point] = closest(point).second;
  }
  nearest = std::move(now);
  begin_.push_back(static_cast<std::int64_t>(cells_.size()));
}

// Data goes to the nearest cell of the last level, and with it upwards.
void CoverTree::fill_cells(const Nearest& nearest) {
  for (std::size_t point = 0; point < nearest.size(); ++point) {
    for (auto cell = static_cast<std::int64_t>(nearest[point]); cell >= 0;
         cell = cells_[static_cast<std::size_t>(cell)].parent) {
      cells_[static_cast<std::size_t>(cell)].points.push_back(
          static_cast<std::int64_t>(point));
    }
  }
  for (std::size_t i = 1; i < cells_.size(); ++i) {
    cells_[static_cast<std::size_t>(cells_[i].parent)].children.push_back(
        static_cast<std::int64_t>(i));
  }
}

}  // namespace thermocline
