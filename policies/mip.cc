#include "policies/mip.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

namespace thermocline {
namespace {

constexpr double kSlack = 1e-6;  // of rows, relative

using Model = std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)>;

// Costs are scaled to a largest of `kLargest`, for CBC's tolerances are
// absolute.
constexpr double kLargest = 1e5;

Model load(const Mip& mip, double scale) {
  const std::size_t n = mip.cost.size() + 1;
  std::vector<std::vector<std::pair<int, double>>> entries(n);
  std::vector<double> least;
  std::vector<double> most;
  for (std::size_t r = 0; r < mip.rows.size(); ++r) {
    const Mip::Row& row = mip.rows[r];
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      entries[static_cast<std::size_t>(row.columns[i])].emplace_back(
          static_cast<int>(r), row.factors[i]);
    }
    constexpr double kNone = std::numeric_limits<double>::max();
    least.push_back(std::max(row.least, -kNone));
    most.push_back(std::min(row.most, kNone));
  }
  std::vector<CoinBigIndex> starts{0};
  std::vector<int> index;
  std::vector<double> value;
  for (const auto& column : entries) {
    for (const auto& [row, factor] : column) {
      index.push_back(row);
      value.push_back(factor);
    }
    starts.push_back(static_cast<CoinBigIndex>(index.size()));
  }
  std::vector<double> cost = mip.cost;
  cost.push_back(mip.constant);  // of a column that is always 1
  for (double& one : cost) one *= scale;
  std::vector<double> lower(n, 0);
  lower.back() = 1;
  const std::vector<double> upper(n, 1);
  Model out(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(out.get(), 0);
  Cbc_loadProblem(out.get(), static_cast<int>(n),
                  static_cast<int>(mip.rows.size()), starts.data(),
                  index.data(), value.data(), lower.data(), upper.data(),
                  cost.data(), least.data(), most.data());
  for (std::size_t i = 0; i + 1 < n; ++i) {
    Cbc_setInteger(out.get(), static_cast<int>(i));
  }
  return out;
}

std::string text(double value) {
  char out[32];
  std::snprintf(out, sizeof out, "%.9g", value);
  return out;
}

}  // namespace

double cost_of(const Mip& mip, const std::vector<std::uint8_t>& values) {
  double sum = mip.constant;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) sum += mip.cost[i];
  }
  return sum;
}

bool feasible(const Mip& mip, const std::vector<std::uint8_t>& values) {
  if (values.size() != mip.cost.size()) return false;
  return std::all_of(
      mip.rows.begin(), mip.rows.end(), [&](const Mip::Row& row) {
        double sum = 0;
        for (std::size_t i = 0; i < row.columns.size(); ++i) {
          if (values[static_cast<std::size_t>(row.columns[i])]) {
            sum += row.factors[i];
          }
        }
        const double slack = kSlack * (1 + std::abs(sum));
        return sum >= row.least - slack && sum <= row.most + slack;
      });
}

Result<MipAnswer> solve(const Mip& mip, const std::vector<std::uint8_t>& start,
                        const MipLimits& limits) {
  double largest = std::abs(mip.constant);
  for (const double one : mip.cost) largest = std::max(largest, std::abs(one));
  const double scale = largest > 0 ? kLargest / largest : 1;
  const bool started = feasible(mip, start);
  if (mip.cost.empty() && started) {
    return MipAnswer{start, mip.constant, mip.constant};
  }
  const Model model = load(mip, scale);
  Cbc_setParameter(model.get(), "seconds", text(limits.seconds).c_str());
  Cbc_setParameter(model.get(), "ratioGap", text(limits.gap).c_str());
  if (started) {
    std::vector<int> columns;
    std::vector<double> values;
    for (std::size_t i = 0; i < start.size(); ++i) {
      columns.push_back(static_cast<int>(i));
      values.push_back(start[i]);
    }
    Cbc_setMIPStartI(model.get(), static_cast<int>(columns.size()),
                     columns.data(), values.data());
  }
  Cbc_solve(model.get());
  MipAnswer out;
  if (const double* best = Cbc_bestSolution(model.get())) {
    for (std::size_t i = 0; i < mip.cost.size(); ++i) {
      out.values.push_back(best[i] > 0.5);
    }
  }
  const bool found = !out.values.empty() && feasible(mip, out.values);
  if (!found && !started) {
    if (Cbc_isProvenInfeasible(model.get())) {
      return invalid("no placement keeps all capacities");
    }
    return unsupported("CBC found no placement in " + text(limits.seconds) +
                       " s; give it more time (seconds)");
  }
  if (!found || (started && cost_of(mip, start) < cost_of(mip, out.values))) {
    out.values = start;
  }
  out.cost = cost_of(mip, out.values);
  const double bound = Cbc_getBestPossibleObjValue(model.get()) / scale;
  out.bound = std::isfinite(bound) && std::abs(bound) < 1e30
                  ? std::clamp(bound, 0.0, std::max(0.0, out.cost))
                  : 0;
  return out;
}

}  // namespace thermocline
