#include "policies/relaxation.h"

#include <algorithm>
#include <cmath>
#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <set>

namespace thermocline {
namespace {

constexpr int kPatience = 2;          // rounds that may raise nothing
constexpr double kWhole = 1e-6;       // as good as 0 or 1
constexpr double kViolated = 1e-3;    // of a cut, at least
constexpr double kSplit = 0.01;       // a share to round, at least
constexpr std::size_t kDivisors = 8;  // tried for one row

class Asker final : public ClpEventHandler {
 public:
  explicit Asker(const std::function<bool()>& go_on) : go_on_(&go_on) {}
  int event(Event) override { return (*go_on_)() ? -1 : 1; }
  ClpEventHandler* clone() const override { return new Asker(*this); }

 private:
  const std::function<bool()>* go_on_;
};

class Program {
 public:
  Program(const Mip& mip, const std::function<bool()>& go_on) {
    const Asker asker(go_on);
    clp_.setLogLevel(0);
    clp_.passInEventHandler(&asker);
    clp_.resize(0, static_cast<int>(mip.cost.size()));
    for (int i = 0; i < clp_.numberColumns(); ++i) {
      clp_.setObjectiveCoefficient(i, mip.cost[static_cast<std::size_t>(i)]);
      clp_.setColumnBounds(i, 0, 1);
    }
    add(mip.rows);
  }

  void add(const std::vector<Mip::Row>& rows) {
    std::vector<CoinBigIndex> starts{0};
    std::vector<int> columns;
    std::vector<double> factors;
    std::vector<double> least;
    std::vector<double> most;
    for (const Mip::Row& row : rows) {
      columns.insert(columns.end(), row.columns.begin(), row.columns.end());
      factors.insert(factors.end(), row.factors.begin(), row.factors.end());
      starts.push_back(static_cast<CoinBigIndex>(columns.size()));
      least.push_back(std::max(row.least, -COIN_DBL_MAX));
      most.push_back(std::min(row.most, COIN_DBL_MAX));
    }
    clp_.addRows(static_cast<int>(rows.size()), least.data(), most.data(),
                 starts.data(), columns.data(), factors.data());
  }

  // Whether there is an optimum.
  bool solve() {
    clp_.dual();
    return clp_.status() == 0;
  }
  bool impossible() const { return clp_.status() == 1; }

  double cost() const { return clp_.objectiveValue(); }
  std::vector<double> values() const {
    const double* of = clp_.primalColumnSolution();
    return {of, of + clp_.numberColumns()};
  }
  std::vector<double> slope() const {
    const double* of = clp_.dualColumnSolution();
    return {of, of + clp_.numberColumns()};
  }

 private:
  ClpSimplex clp_;
};

double reached(const Mip::Row& row, const std::vector<double>& at) {
  double sum = 0;
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    sum += row.factors[i] * at[static_cast<std::size_t>(row.columns[i])];
  }
  return sum;
}

double floor_of(double value) { return std::floor(value + 1e-9); }

// The row divided by `unit` and rounded, with columns above one half turned
// into what they lack of 1, so that the rounding loses least there.
Mip::Row rounded(const Mip::Row& row, const std::vector<double>& at,
                 double unit) {
  double room = row.most;
  const auto turned = [&](std::size_t i) {
    return at[static_cast<std::size_t>(row.columns[i])] > 0.5;
  };
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    if (turned(i)) room -= row.factors[i];
  }
  room /= unit;
  const double split = room - floor_of(room);
  Mip::Row out;
  if (split < kSplit || split > 1 - kSplit) return out;
  out.most = floor_of(room);
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const double whole = (turned(i) ? -row.factors[i] : row.factors[i]) / unit;
    const double rest = whole - floor_of(whole);
    const double factor =
        floor_of(whole) + std::max(0.0, rest - split) / (1 - split);
    if (factor == 0) continue;
    out.columns.push_back(row.columns[i]);
    out.factors.push_back(turned(i) ? -factor : factor);
    if (turned(i)) out.most -= factor;
  }
  return out;
}

// The cut that `at` violates most; without columns if there is none.
Mip::Row cut(const Mip::Row& row, const std::vector<double>& at) {
  Mip::Row best;
  if (!(reached(row, at) > row.most - 1e-6 * (1 + std::abs(row.most)))) {
    return best;
  }
  std::set<double> units;
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const double value = at[static_cast<std::size_t>(row.columns[i])];
    if (row.factors[i] <= 0) return best;  // not one of memory
    if (value < kWhole || value > 1 - kWhole) continue;
    for (const double part : {1.0, 0.5, 0.25}) {
      units.insert(row.factors[i] * part);
    }
  }
  double violated = kViolated;
  std::size_t tried = 0;
  for (const double unit : units) {
    if (++tried > 3 * kDivisors) break;
    Mip::Row one = rounded(row, at, unit);
    if (one.columns.empty()) continue;
    const double by = reached(one, at) - one.most;
    if (by <= violated) continue;
    violated = by;
    best = std::move(one);
  }
  return best;
}

}  // namespace

Result<Relaxation> relax_by_clp(const Mip& mip, int rounds, double worth,
                                const std::function<bool()>& go_on) {
  Relaxation out;
  if (mip.rows.empty()) {  // which Clp does not survive
    out.slope = mip.cost;
    out.cost = mip.constant;
    for (const double one : mip.cost) {
      out.values.push_back(one < 0 ? 1 : 0);
      out.cost += std::min(0.0, one);
    }
    return out;
  }
  Program program(mip, go_on);
  if (!program.solve()) {
    if (program.impossible()) return invalid("no values keep all rows");
    return interrupted("stopped before the relaxation was solved");
  }
  const auto keep = [&] {
    out.cost = program.cost() + mip.constant;
    out.values = program.values();
    out.slope = program.slope();
  };
  keep();
  int idle = 0;
  for (int round = 0; round < rounds && idle < kPatience; ++round) {
    std::vector<Mip::Row> cuts;
    for (const Mip::Row& row : mip.rows) {
      if (!go_on()) break;
      Mip::Row one = cut(row, out.values);
      if (!one.columns.empty()) cuts.push_back(std::move(one));
    }
    if (cuts.empty() || !go_on()) break;
    program.add(cuts);
    if (!program.solve()) break;  // what there was before still holds
    const double before = out.cost;
    keep();
    idle = out.cost - before < worth * std::abs(out.cost) ? idle + 1 : 0;
    out.cuts.insert(out.cuts.end(), cuts.begin(), cuts.end());
  }
  std::erase_if(out.cuts, [&](const Mip::Row& row) {
    return reached(row, out.values) < row.most - kWhole;
  });
  return out;
}

}  // namespace thermocline
