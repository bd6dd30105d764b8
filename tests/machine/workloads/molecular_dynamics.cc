// molecular_dynamics: a crystal melts, whose atoms attract and repel each other
// after Lennard-Jones; as miniMD does (Heroux 2009), after LAMMPS (1995).
//
// Each atom has a list of those around it, a little beyond the cutoff, in which
// each pair is once (Verlet 1967). When an atom has gone half of what is
// beyond, atoms are sorted by the cells of a grid and listed anew. The box is
// periodic: beyond its sides are ghosts, which follow the atoms on its other
// side and whose forces are theirs. The integrator is velocity Verlet. Units
// are those of Lennard and Jones. A time step takes two of the program's.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/vector.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr double kLattice = 1.6796;    // four atoms in a cube of this side
constexpr double kTemperature = 1.44;  // at the start
constexpr double kTimeStep = 0.005;
constexpr double kCutoff = 2.5;
constexpr double kSkin = 0.3;  // listed beyond the cutoff
constexpr double kReach = kCutoff + kSkin;
constexpr std::size_t kParts = 2;        // steps to a time step
constexpr std::size_t kNeighbours = 41;  // of an atom, on average, at most
constexpr std::size_t kCrowd = 130;      // ghosts, to 100 expected
constexpr std::size_t kChecked = 32;     // atoms
constexpr double kForceError = 1e-8;
constexpr double kEnergyError = 3e-3;  // of the kinetic energy

struct Ghost {
  std::uint32_t owner = 0;
  std::array<std::int8_t, 3> shift{};  // boxes from it
};

// Of the grid: the box's, and one more on each side.
struct Cell {
  std::uint32_t first = 0;  // atom or ghost
  std::uint32_t count = 0;
};

// Of two atoms, to the way between them.
double pair_force(double distance_squared) {
  const double near = 1 / distance_squared;
  const double sixth = near * near * near;
  return 48 * sixth * (sixth - 0.5) * near;
}

class MolecularDynamics final : public Workload {
 public:
  explicit MolecularDynamics(const WorkloadSettings& s) : settings_(s) {}

  void prepare() override {
    std::size_t cubes = 5;
    while (2 * settings_.bytes >= bytes_of(cubes) + bytes_of(cubes + 1)) {
      ++cubes;
    }
    atoms_ = 4 * cubes * cubes * cubes;
    side_ = kLattice * static_cast<double>(cubes);
    grid_ = grid_of(cubes);
    ghosts_.reserve(ghosts_of(cubes));
    positions_.resize(atoms_ + ghosts_.capacity());
    forces_.resize(positions_.size());
    velocities_.resize(atoms_);
    listed_at_.resize(atoms_);
    order_.resize(atoms_);
    begin_.resize(atoms_ + 1);
    neighbours_.resize(atoms_ * kNeighbours);
    cells_.reserve(1 << 15);  // a mapping of its own, not in the heap
    cells_.resize((grid_ + 2) * (grid_ + 2) * (grid_ + 2));
    make_crystal(cubes);
    list();
    std::fill(forces_.begin(), forces_.end(), Vector{});
    forces(0, atoms_);
    return_forces();
    energy_ = kinetic_energy() + potential_energy();
  }

  std::vector<Array> arrays() const override {
    return {array_of("positions", positions_),
            array_of("forces", forces_),
            array_of("velocities", velocities_),
            array_of("listed_at", listed_at_),
            array_of("order", order_),
            array_of("begin", begin_),
            array_of("neighbours", neighbours_),
            {"ghosts", ghosts_.data(), ghosts_.capacity() * sizeof(Ghost)},
            array_of("cells", cells_)};
  }

  std::uint64_t step(std::uint64_t) override {
    if (part_ == 0) {
      move() ? list() : move_ghosts();
      std::fill(forces_.begin(), forces_.end(), Vector{});
    }
    Digest digest;
    const std::size_t begin = atoms_ * part_ / kParts;
    digest.add(forces(begin, atoms_ * (part_ + 1) / kParts));
    if (++part_ == kParts) {
      part_ = 0;
      return_forces();
      for (std::size_t i = 0; i < atoms_; ++i) {
        velocities_[i] += kTimeStep / 2 * forces_[i];
      }
      digest.add(kinetic_energy());
    }
    return digest.value();
  }

  // Forces are those of all atoms, however far in the list; and energy stays.
  Status check() override {
    while (part_ != 0) step(0);
    for (std::size_t i = 0; i < kChecked; ++i) {
      const std::size_t one = i * atoms_ / kChecked;
      Vector expected;
      for (std::size_t other = 0; other < atoms_; ++other) {
        Vector way = positions_[one] - positions_[other];
        for (double* const off : {&way.x, &way.y, &way.z}) {
          while (*off > side_ / 2) *off -= side_;
          while (*off < -side_ / 2) *off += side_;
        }
        const double d = squared(way);
        if (other != one && d < kCutoff * kCutoff) {
          expected += pair_force(d) * way;
        }
      }
      const double allowed = kForceError * (1 + std::sqrt(squared(expected)));
      if (std::sqrt(squared(forces_[one] - expected)) <= allowed) continue;
      return corrupt("the force on atom " + std::to_string(one) +
                     " is not that of the others");
    }
    const double kinetic = kinetic_energy();
    const double change = kinetic + potential_energy() - energy_;
    if (std::abs(change) <= kEnergyError * kinetic) return {};
    return corrupt("energy is not what it was");
  }

  void spoil() override { forces_[0].x += 1; }

 private:
  static std::size_t grid_of(std::size_t cubes) {
    return static_cast<std::size_t>(static_cast<double>(cubes) * kLattice /
                                    kReach);
  }

  // They fill the cells around the grid, but for those below.
  static std::size_t ghosts_of(std::size_t cubes) {
    const std::size_t grid = grid_of(cubes), all = grid * grid * grid;
    const std::size_t around = (grid + 2) * (grid + 2) * (grid + 1) - all;
    return kCrowd * 4 * cubes * cubes * cubes * around / all / 100;
  }

  static std::size_t bytes_of(std::size_t cubes) {
    constexpr std::size_t kAtom =
        4 * sizeof(Vector) + (kNeighbours + 2) * sizeof(std::uint32_t);
    constexpr std::size_t kGhost = 2 * sizeof(Vector) + sizeof(Ghost);
    return 4 * cubes * cubes * cubes * kAtom + ghosts_of(cubes) * kGhost;
  }

  // Cubes, whose corners and middles of sides are atoms.
  void make_crystal(std::size_t cubes) {
    Random random(settings_.seed);
    Vector sum;
    for (std::size_t i = 0; i < atoms_; ++i) {
      const std::size_t cube = i / 4, corner = i % 4;
      const auto place = [](std::size_t n, bool half) {
        return kLattice * (static_cast<double>(n) + (half ? 0.75 : 0.25));
      };
      positions_[i] = {place(cube % cubes, corner == 1 || corner == 2),
                       place(cube / cubes % cubes, corner == 1 || corner == 3),
                       place(cube / cubes / cubes, corner == 2 || corner == 3)};
      velocities_[i] = {random.unit(), random.unit(), random.unit()};
      sum += velocities_[i];
    }
    const auto count = static_cast<double>(atoms_);
    for (Vector& v : velocities_) v = v - 1 / count * sum;
    const double faster =
        std::sqrt(1.5 * kTemperature * count / kinetic_energy());
    for (Vector& v : velocities_) v = faster * v;
  }

  // Whether an atom has come too far from where it was listed.
  bool move() {
    double furthest = 0;
    for (std::size_t i = 0; i < atoms_; ++i) {
      velocities_[i] += kTimeStep / 2 * forces_[i];
      positions_[i] += kTimeStep * velocities_[i];
      furthest = std::max(furthest, squared(positions_[i] - listed_at_[i]));
    }
    return furthest > kSkin * kSkin / 4;
  }

  Cell& cell(std::size_t x, std::size_t y, std::size_t z) {
    return cells_[(z * (grid_ + 2) + y) * (grid_ + 2) + x];
  }

  Cell& cell_around(const Vector& p) {
    const auto place = [this](double at) {
      const double share = at / side_ * static_cast<double>(grid_);
      return std::min(static_cast<std::size_t>(share), grid_ - 1) + 1;
    };
    return cell(place(p.x), place(p.y), place(p.z));
  }

  void list() {
    sort();
    make_ghosts();
    move_ghosts();
    std::uint32_t used = 0;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].first < atoms_ && cells_[i].count > 0) list_cell(i, used);
    }
    begin_[atoms_] = used;
  }

  // By cells. Forces are computed anew after it: they are where velocities are
  // kept meanwhile.
  void sort() {
    std::fill(cells_.begin(), cells_.end(), Cell{});
    for (std::size_t i = 0; i < atoms_; ++i) {
      Vector& p = positions_[i];
      for (double* const at : {&p.x, &p.y, &p.z}) {
        if (*at < 0) *at += side_;
        if (*at >= side_) *at -= side_;
      }
      ++cell_around(p).count;
    }
    std::uint32_t sum = 0;
    for (Cell& one : cells_) {
      one.first = sum;
      sum += one.count;
      one.count = 0;
    }
    for (std::size_t i = 0; i < atoms_; ++i) {
      Cell& one = cell_around(positions_[i]);
      order_[one.first + one.count++] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < atoms_; ++i) {
      listed_at_[i] = positions_[order_[i]];
      forces_[i] = velocities_[order_[i]];
    }
    std::copy_n(listed_at_.begin(), atoms_, positions_.begin());
    std::copy_n(forces_.begin(), atoms_, velocities_.begin());
  }

  // Cell by cell, in the order of their atoms.
  void make_ghosts() {
    const auto inside = [this](std::size_t at) {
      return at == 0 ? grid_ : at > grid_ ? std::size_t{1} : at;
    };
    const auto shift = [this](std::size_t at) {
      return static_cast<std::int8_t>((at > grid_) - (at == 0));
    };
    ghosts_.clear();
    for (std::size_t z = 1; z <= grid_ + 1; ++z) {
      for (std::size_t y = 0; y <= grid_ + 1; ++y) {
        for (std::size_t x = 0; x <= grid_ + 1; ++x) {
          Ghost one{0, {shift(x), shift(y), shift(z)}};
          if (one.shift == std::array<std::int8_t, 3>{}) continue;
          const Cell& own = cell(inside(x), inside(y), inside(z));
          CHECK(ghosts_.size() + own.count <= ghosts_.capacity());
          Cell& there = cell(x, y, z);
          there.first = static_cast<std::uint32_t>(atoms_ + ghosts_.size());
          there.count = own.count;
          for (std::uint32_t i = 0; i < own.count; ++i) {
            one.owner = own.first + i;
            ghosts_.push_back(one);
          }
        }
      }
    }
  }

  void move_ghosts() {
    for (std::size_t i = 0; i < ghosts_.size(); ++i) {
      const auto& [owner, shift] = ghosts_[i];
      positions_[atoms_ + i] = positions_[owner];
      positions_[atoms_ + i] +=
          side_ * Vector{1.0 * shift[0], 1.0 * shift[1], 1.0 * shift[2]};
    }
  }

  // Those behind in its cell, and all in the cells behind: half of the 26.
  void list_cell(std::size_t own, std::uint32_t& used) {
    const std::size_t row = grid_ + 2, layer = row * row;
    std::array<Cell, 14> near{cells_[own], cells_[own + 1]};
    for (std::size_t i = 0; i < 3; ++i) {
      near[2 + i] = cells_[own + row + i - 1];
      for (std::size_t k = 0; k < 3; ++k) {
        near[5 + 3 * k + i] = cells_[own + layer + k * row + i - row - 1];
      }
    }
    while (near[0].count > 0) {
      const Vector p = positions_[near[0].first];
      begin_[near[0].first++] = used;
      --near[0].count;
      for (const Cell& one : near) {
        CHECK(used + one.count <= neighbours_.size());
        for (std::uint32_t j = one.first; j < one.first + one.count; ++j) {
          neighbours_[used] = j;
          used += squared(positions_[j] - p) < kReach * kReach;
        }
      }
    }
  }

  // On some atoms, and on those in their lists. Returns their virial.
  double forces(std::size_t begin, std::size_t end) {
    double virial = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const Vector p = positions_[i];
      Vector sum;
      for (auto k = begin_[i]; k < begin_[i + 1]; ++k) {
        const std::uint32_t j = neighbours_[k];
        const Vector way = p - positions_[j];
        const double d = squared(way);
        if (d >= kCutoff * kCutoff) continue;
        const double strength = pair_force(d);
        const Vector force = strength * way;
        sum += force;
        forces_[j] = forces_[j] - force;
        virial += strength * d;
      }
      forces_[i] += sum;
    }
    return virial;
  }

  void return_forces() {
    for (std::size_t i = 0; i < ghosts_.size(); ++i) {
      forces_[ghosts_[i].owner] += forces_[atoms_ + i];
    }
  }

  double kinetic_energy() const {
    double sum = 0;
    for (const Vector& v : velocities_) sum += squared(v);
    return sum / 2;
  }

  // Of pairs that have none at the cutoff, where the force ends.
  double potential_energy() const {
    const auto energy_at = [](double distance_squared) {
      const double near = 1 / distance_squared;
      const double sixth = near * near * near;
      return 4 * sixth * (sixth - 1);
    };
    const double at_cutoff = energy_at(kCutoff * kCutoff);
    double sum = 0;
    for (std::size_t i = 0; i < atoms_; ++i) {
      for (auto k = begin_[i]; k < begin_[i + 1]; ++k) {
        const double d = squared(positions_[i] - positions_[neighbours_[k]]);
        if (d < kCutoff * kCutoff) sum += energy_at(d) - at_cutoff;
      }
    }
    return sum;
  }

  WorkloadSettings settings_;
  std::vector<Vector> positions_, forces_;      // of atoms, then of ghosts
  std::vector<Vector> velocities_, listed_at_;  // where atoms were
  std::vector<std::uint32_t> order_;            // by cells, of former numbers
  std::vector<std::uint32_t> begin_;            // of an atom's neighbours
  std::vector<std::uint32_t> neighbours_;
  std::vector<Ghost> ghosts_;
  std::vector<Cell> cells_;
  double side_ = 0, energy_ = 0;                 // of the box; at the start
  std::size_t atoms_ = 0, part_ = 0, grid_ = 0;  // the last: cells to a side
};

const RegisterWorkload kEntry{
    "molecular_dynamics",
    {"molecular dynamics: a Lennard-Jones crystal melts, with neighbour lists "
     "and velocity Verlet",
     "positions and forces, near each other as atoms are; lists end to end, "
     "half of them a step; every sixteenth step or so all are sorted, listed",
     false, make_workload<MolecularDynamics>}};

}  // namespace
}  // namespace thermocline
