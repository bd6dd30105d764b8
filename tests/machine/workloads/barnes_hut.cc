// barnes_hut: stars of a few clusters under gravitation, by an octree (Barnes
// and Hut, Nature 324, 1986).
//
// A far cell of the tree attracts a body as one mass in its centre of mass, and
// one that is too near for its size is opened. The clusters are of Plummer's
// kind, drawn after Aarseth, Henon and Wielen (1974). The integrator is the
// leapfrog, with a time step to each body: all drift in every step, and those
// whose time has come are kicked by the force there, and have their next time
// by their acceleration, as in GADGET (Springel 2005). The tree is built anew
// every few steps.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/vector.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kClusters = 8;      // of equal masses, one in all
constexpr double kRoom = 10;              // side of the cube of their centres
constexpr double kSmallest = 0.3;         // scale radius of a cluster,
constexpr double kLargest = 1.5;          // and of the widest one
constexpr double kSpeed = 0.2;            // of a cluster, at most
constexpr double kEdge = 10;              // scale radii, to the last body
constexpr double kOpening = 0.7;          // cell's side to its distance
constexpr double kSoftening = 0.02;       // a length
constexpr double kTimeStep = 0.00025;     // of the program's step
constexpr double kAccuracy = 0.025;       // of a body's own time step,
constexpr std::uint32_t kShortest = 128;  // a power of two of steps
constexpr std::uint32_t kLongest = 8192;  // likewise
constexpr std::uint64_t kRebuild = 4;     // steps from a tree to the next
constexpr std::size_t kBucket = 8;        // bodies of a leaf, but for the
constexpr std::size_t kDeepest = 40;      // leaves at so many levels
constexpr std::size_t kActiveShare = 16;  // of bodies are kicked in a step
constexpr std::size_t kChecked = 32;      // bodies
constexpr double kError = 0.05;           // of an acceleration
constexpr std::uint32_t kNone = ~0U;      // no body
constexpr std::uint32_t kInner = ~0U;     // as a count: has cells, not bodies

struct Mass {
  Vector position;
  double mass = 0;
};

// While the tree is built, a cell's position is its middle, and `open` its
// side.
struct Cell {
  Mass all;
  double open = 0;                          // if nearer than this, squared
  std::array<std::uint32_t, 8> children{};  // 0: none
  std::uint32_t first = kNone;              // body
  std::uint32_t count = 0;                  // of bodies
};

Vector attraction(const Mass& one, const Vector& place) {
  const Vector way = one.position - place;
  const double near = 1 / (squared(way) + kSoftening * kSoftening);
  return one.mass * near * std::sqrt(near) * way;
}

// In steps.
std::uint32_t own_time_step(double acceleration) {
  const double time =
      std::sqrt(2 * kAccuracy * kSoftening / acceleration) / kTimeStep;
  std::uint32_t steps = kShortest;
  while (steps < kLongest && 2 * steps <= time) steps *= 2;
  return steps;
}

Vector any_direction(Random& random) {
  for (;;) {
    const Vector v{2 * random.unit() - 1, 2 * random.unit() - 1,
                   2 * random.unit() - 1};
    const double length = squared(v);
    if (length > 0.01 && length < 1) return 1 / std::sqrt(length) * v;
  }
}

class BarnesHut final : public Workload {
 public:
  explicit BarnesHut(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    const std::size_t body = sizeof(Mass) + 2 * sizeof(Vector) +
                             2 * sizeof(std::uint32_t) + sizeof(Cell) / 2;
    const std::size_t n = settings_.bytes / body;
    bodies_.resize(n);
    velocities_.resize(n);
    accelerations_.resize(n);
    due_.resize(n);
    next_.resize(n);
    cells_.resize(n / 2);
    active_.resize(n / kActiveShare);
    Random random(settings_.seed);
    for (std::size_t c = 0; c < kClusters; ++c) {
      make_cluster(n * c / kClusters, n * (c + 1) / kClusters, random);
    }
  }

  std::vector<Array> arrays() const override {
    return {array_of("bodies", bodies_),
            array_of("velocities", velocities_),
            array_of("accelerations", accelerations_),
            array_of("due", due_),
            array_of("next", next_),
            array_of("cells", cells_),
            array_of("active", active_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    const auto now = static_cast<std::uint32_t>(index);
    drift(now);
    if (index % kRebuild == 0) build();
    Digest digest;
    for (std::size_t i = 0; i < actives_; ++i) {
      const std::uint32_t body = active_[i];
      const Vector a = accelerations_[body] = force(bodies_[body].position);
      const std::uint32_t steps = own_time_step(std::sqrt(squared(a)));
      velocities_[body] += steps * kTimeStep * a;
      due_[body] = now + steps;
      digest.add(a.x);
    }
    return digest.value();
  }

  // Each body is in one leaf; and the last accelerations are about those of all
  // the other bodies, one by one.
  Status check() override {
    std::vector<char> seen(bodies_.size());
    std::size_t count = 0;
    for (std::size_t c = 0; c < cells_used_; ++c) {
      if (cells_[c].count == kInner) continue;
      for (auto b = cells_[c].first; b != kNone; b = next_[b]) {
        if (seen[b] != 0) return corrupt("a body is in two leaves");
        seen[b] = 1;
        ++count;
      }
    }
    if (count != bodies_.size()) return corrupt("the tree has lost bodies");
    std::vector<std::uint32_t> some;
    std::vector<Vector> exact;
    double typical = 0;
    for (std::size_t i = 0; i < std::min(kChecked, actives_); ++i) {
      some.push_back(checked(i));
      exact.emplace_back();
      for (const Mass& one : bodies_) {
        exact[i] += attraction(one, bodies_[some[i]].position);
      }
      typical += std::sqrt(squared(exact[i]));
    }
    typical /= static_cast<double>(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double error =
          std::sqrt(squared(accelerations_[some[i]] - exact[i]));
      const double size = std::sqrt(squared(exact[i]));
      if (error <= kError * std::max(size, typical)) continue;
      return corrupt("body " + std::to_string(some[i]) +
                     " is attracted by more or less than the others");
    }
    return {};
  }

  void spoil() override {
    Vector& one = accelerations_[checked(0)];
    one.x += one.x + one.y + one.z + 1;
  }

 private:
  std::uint32_t checked(std::size_t i) const {
    return active_[i * actives_ / std::min(kChecked, actives_)];
  }

  void make_cluster(std::size_t begin, std::size_t end, Random& random) {
    const double mass = 1.0 / kClusters;
    const double scale = kSmallest + (kLargest - kSmallest) * random.unit();
    const Vector centre{kRoom * random.unit(), kRoom * random.unit(),
                        kRoom * random.unit()};
    const double speed = kSpeed * random.unit();
    const Vector velocity = speed * any_direction(random);
    for (std::size_t i = begin; i < end; ++i) {
      double r = kEdge;
      while (r >= kEdge) {  // of three, the largest: the cube root of one
        const double root =
            std::max({random.unit(), random.unit(), random.unit()});
        r = root / std::sqrt(1 - root * root);
      }
      double q = 0;  // of the speed to escape
      for (;;) {
        q = random.unit();
        const double rest = 1 - q * q;
        const double likely = q * q * rest * rest * rest * std::sqrt(rest);
        if (0.1 * random.unit() < likely) break;
      }
      const double escape = std::sqrt(2 * mass / scale / std::sqrt(1 + r * r));
      bodies_[i].mass = 1 / static_cast<double>(bodies_.size());
      bodies_[i].position = centre;
      bodies_[i].position += r * scale * any_direction(random);
      velocities_[i] = velocity;
      velocities_[i] += q * escape * any_direction(random);
      const double a =
          mass * r / (scale * scale) / ((1 + r * r) * std::sqrt(1 + r * r));
      due_[i] = static_cast<std::uint32_t>(random.below(own_time_step(a)));
    }
  }

  void drift(std::uint32_t now) {
    actives_ = 0;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      bodies_[i].position += kTimeStep * velocities_[i];
      if (due_[i] <= now && actives_ < active_.size()) {
        active_[actives_++] = static_cast<std::uint32_t>(i);
      }
    }
  }

  void build() {
    Vector low = bodies_[0].position, high = low;
    for (const Mass& one : bodies_) {
      const Vector& p = one.position;
      low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y),
              std::max(high.z, p.z)};
    }
    const Vector sides = high - low;
    const double side = std::max({sides.x, sides.y, sides.z});
    low += high;
    cells_used_ = 0;
    make_cell(0.5 * low, side);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      insert(static_cast<std::uint32_t>(i));
    }
    for (std::size_t c = cells_used_; c-- > 0;) sum_up(cells_[c]);
  }

  std::uint32_t make_cell(const Vector& middle, double side) {
    cells_[cells_used_] = {};
    cells_[cells_used_].all.position = middle;
    cells_[cells_used_].open = side;
    return cells_used_++;
  }

  // From the root down to a leaf with room; full ones are split.
  void insert(std::uint32_t body) {
    std::uint32_t at = 0;
    for (std::size_t level = 0;; ++level) {
      Cell& cell = cells_[at];
      if (cell.count != kInner) {
        if (cell.count < kBucket || level == kDeepest ||
            cells_used_ + kBucket + 1 >= cells_.size()) {
          append(cell, body);
          return;
        }
        split(cell);
      }
      at = child(cell, body);
    }
  }

  void append(Cell& leaf, std::uint32_t body) {
    next_[body] = leaf.first;
    leaf.first = body;
    ++leaf.count;
  }

  void split(Cell& cell) {
    cell.count = kInner;
    for (std::uint32_t body = cell.first; body != kNone;) {
      const std::uint32_t after = next_[body];
      append(cells_[child(cell, body)], body);
      body = after;
    }
  }

  // Of an inner cell, that the body belongs to; made if there is none.
  std::uint32_t child(Cell& cell, std::uint32_t body) {
    const Vector& p = bodies_[body].position;
    Vector middle = cell.all.position;
    const bool right = p.x >= middle.x, above = p.y >= middle.y,
               behind = p.z >= middle.z;
    std::uint32_t& one = cell.children[right + 2U * above + 4U * behind];
    if (one != 0) return one;
    const double off = cell.open / 4;
    middle += {right ? off : -off, above ? off : -off, behind ? off : -off};
    return one = make_cell(middle, cell.open / 2);
  }

  // Of cells that are summed up, or of bodies. One whose masses are off its
  // middle is opened from further away (Barnes 1994).
  void sum_up(Cell& cell) const {
    Vector moment;
    double mass = 0;
    const auto add = [&](const Mass& one) {
      moment += one.mass * one.position;
      mass += one.mass;
    };
    if (cell.count == kInner) {
      for (const std::uint32_t one : cell.children) {
        if (one != 0) add(cells_[one].all);
      }
    } else {
      for (auto b = cell.first; b != kNone; b = next_[b]) add(bodies_[b]);
    }
    const Vector centre = 1 / mass * moment;
    const double far =
        cell.open / kOpening + std::sqrt(squared(centre - cell.all.position));
    cell.all = {centre, mass};
    cell.open = far * far;
  }

  // A body does not attract itself: it is no way off.
  Vector force(const Vector& place) const {
    std::array<std::uint32_t, 8 * (kDeepest + 1)> stack;
    std::size_t size = 0;
    stack[size++] = 0;
    Vector sum;
    while (size > 0) {
      const Cell& cell = cells_[stack[--size]];
      if (squared(cell.all.position - place) > cell.open) {
        sum += attraction(cell.all, place);
      } else if (cell.count == kInner) {
        for (const std::uint32_t one : cell.children) {
          if (one != 0) stack[size++] = one;
        }
      } else {
        for (auto b = cell.first; b != kNone; b = next_[b]) {
          sum += attraction(bodies_[b], place);
        }
      }
    }
    return sum;
  }

  WorkloadSettings settings_;
  std::vector<Mass> bodies_;
  std::vector<Vector> velocities_;     // half of its own step before a body's
  std::vector<Vector> accelerations_;  // when it was kicked last
  std::vector<std::uint32_t> due_;     // step of the next kick
  std::vector<std::uint32_t> next_;    // body of the same leaf
  std::vector<Cell> cells_;            // parents before their children
  std::vector<std::uint32_t> active_;  // bodies, kicked in this step
  std::uint32_t cells_used_ = 0;
  std::size_t actives_ = 0;
};

const RegisterWorkload kEntry{
    "barnes_hut",
    {"Barnes-Hut N-body: star clusters under gravitation, by an octree",
     "bodies, end to end; cells, the upper levels most, and bodies near those "
     "whose time has come, at random; in every fourth step all cells, which "
     "are built anew",
     true, make_workload<BarnesHut>}};

}  // namespace
}  // namespace thermocline
