// particle_in_cell: a plasma of electrons and ions in two dimensions.
//
// Each particle is pushed by the fields around it (Boris 1970) and adds the
// current of its way to the cells that it goes through (Umeda et al. 2003);
// then Maxwell's equations take the fields on, on Yee's grid. All is periodic;
// lengths are in cells, times in steps. Particles are drawn at random and not
// sorted, so that neighbours in memory are not so in the plasma. The heavy ions
// move every kSlower steps, by as much at once.
#include <cmath>
#include <utility>
#include <vector>

#include "tests/machine/workloads/digest.h"
#include "tests/machine/workloads/workload.h"

namespace thermocline {
namespace {

constexpr std::size_t kPerCell = 4;     // of each kind
constexpr std::uint64_t kSlower = 4;    // ions than electrons
constexpr double kIonMass = 100;        // to an electron's
constexpr double kLightSquared = 0.25;  // speed of light, cells per step
constexpr double kCharge = 0.01;        // of a particle, about
constexpr double kHeat = 0.2;           // an electron's momentum, at most
constexpr double kMagnetic = 0.05;      // at the start
constexpr double kEnergyError = 0.02;   // allowed, and in each step this
constexpr double kHeating = 1e-4;       // more: a grid heats its particles
constexpr double kChargeError = 1e-9;

struct Particle {
  double x = 0, y = 0;            // within its cell
  double ux = 0, uy = 0, uz = 0;  // momentum to its mass
  double weight = 0;              // charge, without its sign, and mass
  std::uint32_t column = 0, row = 0;
  std::uint64_t number = 0;
};

// At a cell's lower edge, its left edge, and its middle.
struct Field {
  double ex = 0, ey = 0, bz = 0;
};

struct Current {
  double x = 0, y = 0;
};

double squared_momentum(const Particle& p) {
  return p.ux * p.ux + p.uy * p.uy + p.uz * p.uz;
}

// By which its speed makes a particle heavier.
double gamma_of(const Particle& p) {
  return std::sqrt(1 + squared_momentum(p) / kLightSquared);
}

class ParticleInCell final : public Workload {
 public:
  explicit ParticleInCell(const WorkloadSettings& s) : settings_(s) {}

  // Each electron has an ion at its place, so that there is no charge at first.
  void prepare() override {
    const std::size_t cells =
        settings_.bytes /
        (2 * kPerCell * sizeof(Particle) + sizeof(Field) + sizeof(Current));
    width_ = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(cells)));
    height_ = static_cast<std::uint32_t>(cells / width_);
    fields_.resize(std::size_t{width_} * height_, {0, 0, kMagnetic});
    currents_.resize(fields_.size());
    electrons_.resize(fields_.size() * kPerCell);
    ions_.resize(electrons_.size());
    Random random(settings_.seed);
    const auto heat = [&](Particle& p, double most) {
      for (double* const u : {&p.ux, &p.uy, &p.uz}) {
        *u = most * (2 * random.unit() - 1);
      }
    };
    for (std::size_t i = 0; i < electrons_.size(); ++i) {
      Particle& p = electrons_[i];
      p.x = random.unit();
      p.y = random.unit();
      p.column = static_cast<std::uint32_t>(random.below(width_));
      p.row = static_cast<std::uint32_t>(random.below(height_));
      p.weight = kCharge * (0.5 + random.unit());
      p.number = i;
      ions_[i] = p;
      heat(p, kHeat);
      heat(ions_[i], kHeat / kIonMass);
    }
    energy_ = energy();
  }

  std::vector<Array> arrays() const override {
    return {array_of("electrons", electrons_), array_of("ions", ions_),
            array_of("fields", fields_), array_of("currents", currents_)};
  }

  std::uint64_t step(std::uint64_t index) override {
    ++steps_;
    push(electrons_, -1, -1, 1);
    if (index % kSlower == kSlower - 1) {
      push(ions_, 1, 1 / kIonMass, static_cast<double>(kSlower));
    }
    return advance_fields();
  }

  // Gauss's law holds at each corner of a cell, for the charges as they are
  // now; and energy stays.
  Status check() override {
    std::vector<double> charge(fields_.size());
    for (const auto& [kind, sign] :
         {std::pair(&electrons_, -1.0), std::pair(&ions_, 1.0)}) {
      for (const Particle& p : *kind) {
        const std::uint32_t right = after(p.column, width_);
        const std::uint32_t up = after(p.row, height_);
        const double q = sign * p.weight;
        charge[at(p.column, p.row)] += q * (1 - p.x) * (1 - p.y);
        charge[at(right, p.row)] += q * p.x * (1 - p.y);
        charge[at(p.column, up)] += q * (1 - p.x) * p.y;
        charge[at(right, up)] += q * p.x * p.y;
      }
    }
    for (std::uint32_t row = 0; row < height_; ++row) {
      for (std::uint32_t column = 0; column < width_; ++column) {
        const Field& own = fields_[at(column, row)];
        const double out =
            own.ex - fields_[at(before(column, width_), row)].ex + own.ey -
            fields_[at(column, before(row, height_))].ey;
        if (std::abs(out - charge[at(column, row)]) <= kChargeError) continue;
        return corrupt("the field does not fit the charge at " +
                       std::to_string(column) + ", " + std::to_string(row));
      }
    }
    const double allowed =
        kEnergyError + kHeating * static_cast<double>(steps_);
    if (std::abs(energy() / energy_ - 1) <= allowed) return {};
    return corrupt("energy is not what it was");
  }

  void spoil() override {
    Particle& one = electrons_[electrons_.size() / 2];
    one.x = one.x < 0.5 ? one.x + 0.5 : one.x - 0.5;
  }

 private:
  std::size_t at(std::uint32_t column, std::uint32_t row) const {
    return std::size_t{row} * width_ + column;
  }
  static std::uint32_t after(std::uint32_t i, std::uint32_t size) {
    return i + 1 == size ? 0 : i + 1;
  }
  static std::uint32_t before(std::uint32_t i, std::uint32_t size) {
    return (i == 0 ? size : i) - 1;
  }

  void push(std::vector<Particle>& kind, double sign, double charge_to_mass,
            double time) {
    const double half = charge_to_mass * time / 2;
    for (Particle& p : kind) {
      const std::uint32_t right = after(p.column, width_);
      const std::uint32_t up = after(p.row, height_);
      const Field& own = fields_[at(p.column, p.row)];
      const double ex = own.ex * (1 - p.y) + fields_[at(p.column, up)].ex * p.y;
      const double ey = own.ey * (1 - p.x) + fields_[at(right, p.row)].ey * p.x;
      p.ux += half * ex;
      p.uy += half * ey;
      const double turn = half * own.bz / gamma_of(p);
      const double turned = 2 * turn / (1 + turn * turn);
      const double middle = p.ux + p.uy * turn;
      p.uy -= middle * turned;
      p.ux = middle + p.uy * turn;
      p.ux += half * ex;
      p.uy += half * ey;
      const double speed = time / gamma_of(p);
      move(p, sign * p.weight, p.x + p.ux * speed, p.y + p.uy * speed);
    }
  }

  // To a place less than a cell away, by one in between: on the edges that it
  // goes through, and else half way.
  void move(Particle& p, double charge, double x, double y) {
    const double across =
        static_cast<double>(x >= 1) - static_cast<double>(x < 0);
    const double along =
        static_cast<double>(y >= 1) - static_cast<double>(y < 0);
    const double edge_x =
        across == 0 ? (p.x + x) / 2 : static_cast<double>(across > 0);
    const double edge_y =
        along == 0 ? (p.y + y) / 2 : static_cast<double>(along > 0);
    add_current(p, charge, p.x, p.y, edge_x, edge_y);
    if (across != 0) {
      p.column =
          across > 0 ? after(p.column, width_) : before(p.column, width_);
    }
    if (along != 0) {
      p.row = along > 0 ? after(p.row, height_) : before(p.row, height_);
    }
    p.x = x - across;
    p.y = y - along;
    add_current(p, charge, edge_x - across, edge_y - along, p.x, p.y);
  }

  // Of a way within the particle's cell, to the four edges of that.
  void add_current(const Particle& p, double charge, double from_x,
                   double from_y, double to_x, double to_y) {
    Current& own = currents_[at(p.column, p.row)];
    const double x = charge * (to_x - from_x), y = charge * (to_y - from_y);
    const double middle_x = (from_x + to_x) / 2, middle_y = (from_y + to_y) / 2;
    own.x += x * (1 - middle_y);
    own.y += y * (1 - middle_x);
    currents_[at(p.column, after(p.row, height_))].x += x * middle_y;
    currents_[at(after(p.column, width_), p.row)].y += y * middle_x;
  }

  // By one step: the electric field by currents, which are used up, and by the
  // magnetic one; then that by the electric one.
  std::uint64_t advance_fields() {
    for (std::uint32_t row = 0; row < height_; ++row) {
      const std::uint32_t below = before(row, height_);
      for (std::uint32_t column = 0; column < width_; ++column) {
        Field& own = fields_[at(column, row)];
        Current& current = currents_[at(column, row)];
        const double left = fields_[at(before(column, width_), row)].bz;
        own.ex += kLightSquared * (own.bz - fields_[at(column, below)].bz);
        own.ey -= kLightSquared * (own.bz - left);
        own.ex -= current.x;
        own.ey -= current.y;
        current = {};
      }
    }
    double digest = 0;
    for (std::uint32_t row = 0; row < height_; ++row) {
      const std::uint32_t above = after(row, height_);
      for (std::uint32_t column = 0; column < width_; ++column) {
        Field& own = fields_[at(column, row)];
        own.bz += fields_[at(column, above)].ex - own.ex;
        own.bz -= fields_[at(after(column, width_), row)].ey - own.ey;
        digest = digest / 2 + own.bz;
      }
    }
    Digest all;
    all.add(digest);
    return all.value();
  }

  double energy() const {
    double sum = 0;
    for (const Field& f : fields_) {
      sum += f.ex * f.ex + f.ey * f.ey + kLightSquared * f.bz * f.bz;
    }
    sum /= 2;
    const auto add = [&](const std::vector<Particle>& kind, double mass) {
      for (const Particle& p : kind) {  // gamma - 1, without the difference
        sum += mass * p.weight * squared_momentum(p) / (gamma_of(p) + 1);
      }
    };
    add(electrons_, 1);
    add(ions_, kIonMass);
    return sum;
  }

  WorkloadSettings settings_;
  std::vector<Particle> electrons_, ions_;
  std::vector<Field> fields_;
  std::vector<Current> currents_;
  std::uint32_t width_ = 0, height_ = 0;  // in cells
  double energy_ = 0;                     // at the start
  std::uint64_t steps_ = 0;
};

const RegisterWorkload kEntry{
    "particle_in_cell",
    {"particle in cell: electrons and ions in the fields that they make",
     "electrons, end to end, and fields and currents, at random and then end "
     "to end; in every fourth step the ions too",
     true, make_workload<ParticleInCell>}};

}  // namespace
}  // namespace thermocline
