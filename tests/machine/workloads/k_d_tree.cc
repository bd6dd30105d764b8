// k_d_tree: nearest neighbours of points of six dimensions, by a k-d tree
// (Bentley 1975; Friedman, Bentley and Finkel 1977), to predict a value.
//
// The tree is implicit: each node halves its points by the median of the
// dimension in which its cell is widest, down to leaves of a few. A node has
// the box around its points; a search enters the nearer child first, and only
// boxes that are nearer than the furthest neighbour so far. Points lie in
// clusters; most queries are about popular ones. Now and then a point is
// measured anew: it moves a little, and the boxes above it grow as they must.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kDimensions = 6;
constexpr std::size_t kNearest = 8;        // neighbours that are looked for
constexpr std::size_t kLeaf = 8;           // points in a leaf, at least
constexpr std::uint64_t kQueries = 1'000;  // in a step
constexpr std::uint64_t kMoves = 2'000;    // of points, in a step
constexpr std::uint64_t kClusters = 1'024;
constexpr std::uint64_t kPopular = 64;  // of these; they get all queries but
constexpr std::uint64_t kAnywhere = 8;  // one of so many
constexpr std::uint64_t kPhase = 4;     // steps until others are popular
constexpr double kNarrow = 0.02;        // spread of a cluster,
constexpr double kWide = 0.1;           // and of the widest one
constexpr double kNoise = 0.005;        // of a measurement
constexpr std::uint64_t kChecked = 16;  // queries

using Point = std::array<double, kDimensions>;

struct Box {
  Point low{}, high{};

  // False: it was in the box.
  bool widen(const Point& p) {
    bool grown = false;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      if (p[d] < low[d]) low[d] = p[d], grown = true;
      if (p[d] > high[d]) high[d] = p[d], grown = true;
    }
    return grown;
  }

  // Squared.
  double distance(const Point& p) const {
    double sum = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const double off = std::max({low[d] - p[d], p[d] - high[d], 0.0});
      sum += off * off;
    }
    return sum;
  }
};

double distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t d = 0; d < kDimensions; ++d) {
    sum += (a[d] - b[d]) * (a[d] - b[d]);
  }
  return sum;
}

struct Cluster {
  double spread = 0;
  std::array<double, kDimensions> centre{};
};

struct Neighbour {
  double distance = 0;  // squared
  std::uint32_t point = 0;

  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

using Neighbours = std::array<Neighbour, kNearest>;  // nearest first
constexpr Neighbour kNobody{1e300, 0};

void offer(Neighbours& nearest, const Neighbour& one) {
  if (!(one < nearest.back())) return;
  std::size_t at = kNearest - 1;
  for (; at > 0 && one < nearest[at - 1]; --at) nearest[at] = nearest[at - 1];
  nearest[at] = one;
}

class KDTree final : public Workload {
 public:
  explicit KDTree(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    constexpr std::size_t kEach =
        sizeof(Point) + sizeof(double) + 2 * sizeof(std::uint32_t);
    leaves_ =
        std::bit_floor(settings_.bytes / (kLeaf * kEach + 2 * sizeof(Box)));
    boxes_.resize(2 * leaves_);
    const std::size_t n =
        (settings_.bytes - boxes_.size() * sizeof(Box)) / kEach;
    points_.resize(n);
    values_.resize(n);
    order_.resize(n);
    leaf_.resize(n);
    Random random(settings_.seed);
    for (Cluster& one : clusters_) {
      one.spread = kNarrow + (kWide - kNarrow) * random.unit();
      for (double& x : one.centre) x = random.unit();
    }
    for (std::size_t i = 0; i < n; ++i) {
      points_[i] = place_of(i);
      values_[i] = random.unit() + points_[i][0];
    }
    std::iota(order_.begin(), order_.end(), 0U);
    Box all{points_[0], points_[0]};
    for (const Point& p : points_) all.widen(p);
    std::vector<std::uint64_t> keys(n);
    build(1, 0, 1, all, keys);
  }

  std::vector<Array> arrays() const override {
    return {array_of("points", points_), array_of("values", values_),
            array_of("order", order_), array_of("leaf", leaf_),
            array_of("boxes", boxes_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    Random random(settings_.seed, index + 1);
    for (std::uint64_t i = 0; i < kMoves; ++i) {
      const std::size_t point = random.below(points_.size());
      points_[point] = measure(point, random);
      for (std::size_t node = leaf_[point];
           node > 0 && boxes_[node].widen(points_[point]); node /= 2) {
      }
    }
    Digest digest;
    for (std::uint64_t i = 0; i < kQueries; ++i) {
      queries_[i] = draw(any_cluster(index / kPhase, random), random);
      answers_[i].fill(kNobody);
      search(1, queries_[i], answers_[i]);
      double value = 0;
      for (const Neighbour& one : answers_[i]) value += values_[one.point];
      digest.add(value / kNearest);
    }
    return digest.value();
  }

  // Some of the last queries are answered by looking at all points; and each
  // point is in its leaf's box, each box in its parent's.
  Status check() override {
    for (std::uint64_t i = 0; i < kChecked; ++i) {
      const std::uint64_t query = i * kQueries / kChecked;
      Neighbours nearest;
      nearest.fill(kNobody);
      for (std::uint32_t p = 0; p < points_.size(); ++p) {
        offer(nearest, {distance(points_[p], queries_[query]), p});
      }
      if (answers_[query] == nearest) continue;
      return corrupt("query " + std::to_string(query) +
                     " has other neighbours than those found");
    }
    for (std::size_t i = 0; i < points_.size(); ++i) {
      Box box = boxes_[leaf_[i]];
      if (!box.widen(points_[i])) continue;
      return corrupt("point " + std::to_string(i) + " is not in its box");
    }
    for (std::size_t node = 2; node < boxes_.size(); ++node) {
      Box box = boxes_[node / 2];
      if (box.widen(boxes_[node].low) || box.widen(boxes_[node].high)) {
        return corrupt("box " + std::to_string(node) +
                       " is not in the one above");
      }
    }
    return {};
  }

  void spoil() override { answers_[0].back().distance *= 2; }

 private:
  // The true one, always the same.
  Point place_of(std::size_t point) const {
    Random own(~settings_.seed, point);
    return draw(own.below(kClusters), own);
  }

  Point measure(std::size_t point, Random& random) const {
    Point p = place_of(point);
    for (double& x : p) x += kNoise * (random.unit() - 0.5);
    return p;
  }

  std::uint64_t any_cluster(std::uint64_t phase, Random& random) const {
    if (random.below(kAnywhere) == 0) return random.below(kClusters);
    return mix(mix(phase + settings_.seed) + random.below(kPopular)) %
           kClusters;
  }

  // Around its cluster's centre, more often near it.
  Point draw(std::uint64_t cluster, Random& random) const {
    const auto& [spread, centre] = clusters_[cluster];
    Point p;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const double off = random.unit() + random.unit() - 1;
      p[d] = centre[d] + spread * off;
    }
    return p;
  }

  // The first point of a node, which is one of so many on its level.
  std::size_t begin_of(std::size_t place, std::size_t level) const {
    return points_.size() * place / level;
  }

  // In the order of values, to a float's precision; the lower half is the
  // point.
  static std::uint64_t key(double value, std::uint32_t point) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const std::uint32_t flip = bits >> 31 != 0 ? ~0U : 1U << 31;
    return std::uint64_t{bits ^ flip} << 32 | point;
  }

  void build(std::size_t node, std::size_t place, std::size_t level, Box& cell,
             std::vector<std::uint64_t>& keys) {
    const std::size_t begin = begin_of(place, level);
    const std::size_t end = begin_of(place + 1, level);
    if (level == leaves_) {
      boxes_[node] = {points_[order_[begin]], points_[order_[begin]]};
      for (std::size_t i = begin; i < end; ++i) {
        boxes_[node].widen(points_[order_[i]]);
        leaf_[order_[i]] = static_cast<std::uint32_t>(node);
      }
      return;
    }
    std::size_t widest = 0;
    for (std::size_t d = 1; d < kDimensions; ++d) {
      if (cell.high[d] - cell.low[d] > cell.high[widest] - cell.low[widest]) {
        widest = d;
      }
    }
    const std::size_t middle = begin_of(2 * place + 1, 2 * level);
    for (std::size_t i = begin; i < end; ++i) {
      keys[i] = key(points_[order_[i]][widest], order_[i]);
    }
    const auto at = [&](std::size_t i) {
      return keys.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::nth_element(at(begin), at(middle), at(end));
    for (std::size_t i = begin; i < end; ++i) {
      order_[i] = static_cast<std::uint32_t>(keys[i]);
    }
    const double cut = points_[order_[middle]][widest];
    const double high = std::exchange(cell.high[widest], cut);
    build(2 * node, 2 * place, 2 * level, cell, keys);
    cell.high[widest] = high;
    const double low = std::exchange(cell.low[widest], cut);
    build(2 * node + 1, 2 * place + 1, 2 * level, cell, keys);
    cell.low[widest] = low;
    boxes_[node] = boxes_[2 * node];
    boxes_[node].widen(boxes_[2 * node + 1].low);
    boxes_[node].widen(boxes_[2 * node + 1].high);
  }

  void search(std::size_t node, const Point& query, Neighbours& nearest) const {
    if (node >= leaves_) {
      const std::size_t end = begin_of(node - leaves_ + 1, leaves_);
      for (std::size_t i = begin_of(node - leaves_, leaves_); i < end; ++i) {
        offer(nearest, {distance(points_[order_[i]], query), order_[i]});
      }
      return;
    }
    std::size_t near = 2 * node, far = 2 * node + 1;
    double to_near = boxes_[near].distance(query);
    double to_far = boxes_[far].distance(query);
    if (to_far < to_near) {
      std::swap(near, far);
      std::swap(to_near, to_far);
    }
    if (to_near <= nearest.back().distance) search(near, query, nearest);
    if (to_far <= nearest.back().distance) search(far, query, nearest);
  }

  WorkloadSettings settings_;
  std::array<Cluster, kClusters> clusters_{};
  std::vector<Point> points_;
  std::vector<double> values_;                  // of the points
  std::vector<std::uint32_t> order_;            // points, leaf by leaf
  std::vector<std::uint32_t> leaf_;             // of each point
  std::vector<Box> boxes_;                      // root 1; leaves last
  std::size_t leaves_ = 0;                      // a power of two
  std::array<Point, kQueries> queries_{};       // of the last step,
  std::array<Neighbours, kQueries> answers_{};  // and what was found
};

const RegisterWorkload kEntry{
    "k_d_tree",
    {"nearest neighbours: a k-d tree over points of six dimensions, which "
     "move a little",
     "boxes near the root; boxes and points around 64 of 1024 clusters; the "
     "others' now and then; other clusters every 4 steps",
     true, make_workload<KDTree>}};

}  // namespace
}  // namespace thermocline
