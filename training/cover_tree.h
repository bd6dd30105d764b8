// CoverTree: points in levels of ever finer nets, and the cells they make.
//
// After Beygelzimer, Kakade and Langford (ICML 2006). Level i is a net of
// radius r_i = r_0 / 2^i: (nesting) each centre of level i is one of level
// i + 1; (separation) two centres of level i are more than r_i apart;
// (covering) each point is within r_i of a centre of level i, and each centre
// of level i + 1 within r_i of its parent in level i, the nearest. The cell of
// a centre is all data below it: a level's cells part the data, each cell is
// the union of its children, and its points are within 2 r_i of its centre.
//
// Levels are kept explicitly, for each is a set of cells here, and are made one
// after the other instead of by inserting points, for all data is there from
// the start. The data's order decides which points make the nets, never
// whether the rules hold. Distances are asked of the caller, so that the points
// may lie anywhere.
// Thread safety: pure. Cost: for each level, the square of its cells, and for
// each point the cells nearby.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace thermocline {

struct Cell {
  std::int64_t centre = 0;             // the point that it is around
  int level = 0;                       // 0: the root
  std::int64_t parent = -1;            // a cell of the level above; -1: none
  std::vector<std::int64_t> children;  // cells of the level below
  std::vector<std::int64_t> points;    // all of its data, ascending
};

class CoverTree {
 public:
  using Distance = std::function<double(std::int64_t, std::int64_t)>;

  /// `count` points, numbered from 0. At most `levels` below the root; no more
  /// once no centre is the nearest of more than `smallest` points. Requires:
  /// count > 0, levels >= 0; distance is a metric.
  CoverTree(std::int64_t count, const Distance& distance, int levels,
            std::int64_t smallest);

  /// All cells, the root first, level by level.
  const std::vector<Cell>& cells() const { return cells_; }
  /// Level i has the cells from number begin(i) to begin(i + 1).
  std::int64_t begin(int level) const {
    return begin_[static_cast<std::size_t>(level)];
  }
  int levels() const { return static_cast<int>(begin_.size()) - 1; }
  /// r_i.
  double radius(int level) const;

 private:
  // For each point, the cell of the last level whose centre is nearest.
  using Nearest = std::vector<std::size_t>;
  void add_level(const Distance& distance, Nearest& nearest);
  void fill_cells(const Nearest& nearest);

  std::vector<Cell> cells_;
  std::vector<std::int64_t> begin_;
  double root_radius_ = 0;
};

}  // namespace thermocline
