// The rules of a cover tree, on points in clumps, on a line, and on top of
// each other.
#include "training/cover_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

namespace thermocline {
namespace {

struct Point {
  double x, y;
};

double between(const Point& a, const Point& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

std::vector<Point> clumps(int count) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<Point> out;
  for (int i = 0; i < count; ++i) {
    const double width = i % 3 == 0 ? 1 : 0.05;
    out.push_back(
        {10 * (i % 5) + width * normal(random), width * normal(random)});
  }
  return out;
}

void check(const std::vector<Point>& points, const CoverTree& tree) {
  const auto of = [&](std::int64_t i) {
    return points[static_cast<std::size_t>(i)];
  };
  const auto cell = [&](std::int64_t i) -> const Cell& {
    return tree.cells()[static_cast<std::size_t>(i)];
  };
  for (int level = 0; level < tree.levels(); ++level) {
    std::multiset<std::int64_t> seen;
    for (auto a = tree.begin(level); a < tree.begin(level + 1); ++a) {
      EXPECT_EQ(cell(a).level, level);
      seen.insert(cell(a).points.begin(), cell(a).points.end());
      for (auto b = tree.begin(level); b < a; ++b) {
        EXPECT_GT(between(of(cell(a).centre), of(cell(b).centre)),
                  tree.radius(level));
      }
      for (const auto point : cell(a).points) {
        EXPECT_LE(between(of(cell(a).centre), of(point)),
                  2 * tree.radius(level));
      }
      if (level > 0) {
        EXPECT_LE(between(of(cell(a).centre), of(cell(cell(a).parent).centre)),
                  tree.radius(level - 1));
      }
      if (level + 1 == tree.levels()) continue;
      std::multiset<std::int64_t> below;
      bool nested = false;
      for (const auto child : cell(a).children) {
        EXPECT_EQ(cell(child).parent, a);
        nested = nested || cell(child).centre == cell(a).centre;
        below.insert(cell(child).points.begin(), cell(child).points.end());
      }
      EXPECT_TRUE(nested);
      EXPECT_TRUE(std::ranges::equal(below, cell(a).points));
    }
    ASSERT_EQ(seen.size(), points.size()) << level;
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {  // covering
      double nearest = INFINITY;
      for (auto a = tree.begin(level); a < tree.begin(level + 1); ++a) {
        nearest = std::min(nearest, between(points[i], of(cell(a).centre)));
      }
      EXPECT_LE(nearest, tree.radius(level));
    }
  }
}

CoverTree tree_of(const std::vector<Point>& points, int levels,
                  std::int64_t smallest) {
  return CoverTree(
      static_cast<std::int64_t>(points.size()),
      [&](std::int64_t a, std::int64_t b) {
        return between(points[static_cast<std::size_t>(a)],
                       points[static_cast<std::size_t>(b)]);
      },
      levels, smallest);
}

TEST(CoverTree, KeepsItsRulesOnEveryLevel) {
  const auto points = clumps(250);
  const auto tree = tree_of(points, 8, 4);
  EXPECT_GT(tree.levels(), 4);
  check(points, tree);
}

TEST(CoverTree, KeepsThemOnALine) {
  std::vector<Point> points;
  for (int i = 0; i < 100; ++i) points.push_back({1.0 * i, 0});
  const auto tree = tree_of(points, 20, 1);
  check(points, tree);
  EXPECT_EQ(tree.begin(tree.levels()) - tree.begin(tree.levels() - 1), 100);
}

TEST(CoverTree, EndsWhenPointsCannotBeParted) {
  EXPECT_EQ(tree_of({{1, 1}}, 5, 1).levels(), 1);
  EXPECT_EQ(tree_of({{1, 1}, {1, 1}, {1, 1}}, 5, 1).levels(), 1);
  const std::vector<Point> twice{{0, 0}, {0, 0}, {1, 0}};
  const auto tree = tree_of(twice, 3, 1);
  check(twice, tree);
  EXPECT_EQ(tree.levels(), 4);  // as many as it may
  EXPECT_EQ(tree_of(clumps(20), 0, 1).levels(), 1);
}

}  // namespace
}  // namespace thermocline
