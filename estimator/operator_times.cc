#include "estimator/operator_times.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "estimator/symmetric_solve.h"

namespace thermocline {
namespace {

constexpr double kBaseDoubt = 1;     // of the logarithm of the base
constexpr double kOutlier = 4;       // degrees of freedom of the noise
constexpr double kLeastBase = 0.05;  // of a time measured in slow tiers
constexpr int kMostSteps = 20;
constexpr double kConverged = 1e-4;

using Measurement = OperatorTimes::Measurement;

bool uniform(const std::vector<TierId>& tiers) {
  return std::all_of(tiers.begin(), tiers.end(),
                     [&](TierId tier) { return tier == tiers.front(); });
}

Status check(const Measurement& measurement, std::size_t operands,
             std::size_t tiers) {
  if (!std::isfinite(measurement.ns) || measurement.ns <= 0) {
    return invalid("a measured operator time is " +
                   std::to_string(measurement.ns) + " ns");
  }
  if (measurement.tiers.size() != operands) {
    return invalid(
        "a measurement gives " + std::to_string(measurement.tiers.size()) +
        " tiers for an operator of " + std::to_string(operands) + " tensors");
  }
  for (const TierId tier : measurement.tiers) {
    if (tier >= tiers) {
      return invalid("a measurement names tier " + std::to_string(tier) +
                     "; the transfer model has " + std::to_string(tiers));
    }
  }
  return {};
}

// Sorted by mix, each once, repeats as their mean.
std::vector<Measurement> merged(std::span<const Measurement> measurements) {
  std::vector<Measurement> sorted(measurements.begin(), measurements.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.tiers != b.tiers ? a.tiers < b.tiers : a.ns < b.ns;
  });
  std::vector<Measurement> out;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    double sum = 0;
    while (end < sorted.size() && sorted[end].tiers == sorted[i].tiers) {
      sum += sorted[end++].ns;
    }
    out.push_back({sorted[i].tiers, sum / static_cast<double>(end - i)});
    i = end;
  }
  return out;
}

// The operator's time when everything lies in tier 0, before fitting: the
// median of what each measurement says, so that no outlier is started from.
double first_base(const TransferModel& model,
                  std::span<const OperatorTimes::Operand> operands,
                  const std::vector<Measurement>& measured) {
  std::vector<double> bases;
  for (const Measurement& one : measured) {
    double rest = one.ns;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      rest -= model.penalty_ns(operands[i].bytes, operands[i].written,
                               one.tiers[i], 0);
    }
    bases.push_back(std::max(rest, kLeastBase * one.ns));
  }
  std::sort(bases.begin(), bases.end());
  return bases[bases.size() / 2];
}

}  // namespace

Result<OperatorTimes> OperatorTimes::fit(
    const TransferModel& model, std::span<const Operand> operands,
    std::span<const Measurement> measurements) {
  if (auto ok = model.check(); !ok) return ok.error();
  if (measurements.empty() || measurements.size() > kMostMeasurements) {
    return invalid(std::to_string(measurements.size()) +
                   " measured times of an operator; needs 1 to " +
                   std::to_string(kMostMeasurements));
  }
  for (const Measurement& one : measurements) {
    if (auto ok = check(one, operands.size(), model.tiers.size()); !ok) {
      return ok.error();
    }
  }
  OperatorTimes out;
  out.tiers_ = model.tiers.size();
  out.measured_ = merged(measurements);
  out.solve(model, operands);

  constexpr double kNone = std::numeric_limits<double>::infinity();
  out.least_ns_.assign(out.tiers_, 0);
  out.most_ns_.assign(out.tiers_, kNone);
  for (const Measurement& one : out.measured_) {
    out.only_endpoints_ &= uniform(one.tiers);
    if (operands.empty() || !uniform(one.tiers)) continue;
    const std::size_t at = one.tiers.front();
    for (std::size_t tier = at; tier < out.tiers_; ++tier) {
      out.least_ns_[tier] = std::max(out.least_ns_[tier], one.ns);
    }
    for (std::size_t tier = 0; tier <= at; ++tier) {
      out.most_ns_[tier] = std::min(out.most_ns_[tier], one.ns);
    }
  }
  return out;
}

// Gauss-Newton on the logarithms of the base and of each operand's factor;
// the prior is diagonal, so each step solves in the space of measurements.
void OperatorTimes::solve(const TransferModel& model,
                          std::span<const Operand> operands) {
  const std::size_t n = operands.size();
  const std::size_t m = measured_.size();
  const double base = first_base(model, operands, measured_);
  std::vector<double> prior(n * tiers_);
  std::vector<double> variance(n + 1, kBaseDoubt * kBaseDoubt);
  for (std::size_t i = 0; i < n; ++i) {
    const Operand& operand = operands[i];
    const double doubt = operand.written ? model.write_doubt : model.read_doubt;
    variance[i] = doubt * doubt;
    for (std::size_t tier = 0; tier < tiers_; ++tier) {
      prior[i * tiers_ + tier] = model.penalty_ns(
          operand.bytes, operand.written, static_cast<TierId>(tier), base);
    }
  }
  base_ns_ = base;
  penalty_ns_ = prior;
  std::vector<double> u(n + 1, 0);
  std::vector<double> slope(m * (n + 1));
  std::vector<double> gram(m * m);
  std::vector<double> rest(m);
  for (int step = 0; step < kMostSteps; ++step) {
    std::fill(gram.begin(), gram.end(), 0);
    for (std::size_t j = 0; j < m; ++j) {
      const auto& tiers = measured_[j].tiers;
      const double time = modelled_ns(tiers);
      double written = 0;
      double linear = 0;
      double* row = &slope[j * (n + 1)];
      row[n] = base_ns_ / time;
      for (std::size_t i = 0; i < n; ++i) {
        const double penalty = penalty_ns(i, tiers[i]);
        row[i] = penalty / time;
        if (operands[i].written) written += std::max(0.0, row[i]);
      }
      for (std::size_t i = 0; i <= n; ++i) linear += row[i] * u[i];
      const double noise =
          (model.noise + model.write_noise * std::min(1.0, written)) *
          (n > 0 && uniform(tiers) ? model.endpoint : 1);
      const double off = std::log(measured_[j].ns / time);
      const double score = off / noise / kOutlier;
      gram[j * m + j] = noise * noise * (1 + score * score * kOutlier);
      rest[j] = off + linear;
    }
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t k = 0; k < m; ++k) {
        double sum = 0;
        for (std::size_t i = 0; i <= n; ++i) {
          sum += slope[j * (n + 1) + i] * variance[i] * slope[k * (n + 1) + i];
        }
        gram[j * m + k] += sum;
      }
    }
    solve_symmetric(gram, rest);
    double largest = 0;
    for (std::size_t i = 0; i <= n; ++i) {
      double to = 0;
      for (std::size_t j = 0; j < m; ++j) {
        to += variance[i] * slope[j * (n + 1) + i] * rest[j];
      }
      const double change = std::clamp(to - u[i], -1.0, 1.0);
      u[i] += change;
      largest = std::max(largest, std::abs(change));
    }
    base_ns_ = base * std::exp(u[n]);
    for (std::size_t i = 0; i < n * tiers_; ++i) {
      penalty_ns_[i] = prior[i] * std::exp(u[i / tiers_]);
    }
    if (largest < kConverged) break;
  }
}

double OperatorTimes::modelled_ns(std::span<const TierId> tiers) const {
  CHECK(tiers.size() == operands());
  double sum = base_ns_;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    sum += penalty_ns(i, tiers[i]);
  }
  return std::max(sum, 0.01 * base_ns_);
}

double OperatorTimes::predict_ns(std::span<const TierId> tiers) const {
  const auto at = std::lower_bound(
      measured_.begin(), measured_.end(), tiers,
      [](const Measurement& one, std::span<const TierId> wanted) {
        return std::lexicographical_compare(one.tiers.begin(), one.tiers.end(),
                                            wanted.begin(), wanted.end());
      });
  if (at != measured_.end() && std::equal(at->tiers.begin(), at->tiers.end(),
                                          tiers.begin(), tiers.end())) {
    return at->ns;
  }
  const double modelled = modelled_ns(tiers);
  if (tiers.empty() || !only_endpoints_) return modelled;
  const auto [low, high] = std::minmax_element(tiers.begin(), tiers.end());
  const auto [least, most] = std::minmax(least_ns_[*low], most_ns_[*high]);
  return std::clamp(modelled, least, most);
}

}  // namespace thermocline
