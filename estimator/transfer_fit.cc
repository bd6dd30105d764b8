#include "estimator/transfer_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace thermocline {
namespace {

constexpr double kHalf = 0.1;  // the error that costs half of the most

std::size_t slow(const OperatorTimes::Measurement& one) {
  return static_cast<std::size_t>(
      std::count(one.tiers.begin(), one.tiers.end(), TierId{1}));
}

bool is_known(const OperatorTimes::Measurement& one, Known which) {
  const std::size_t count = slow(one);
  return which == Known::kAll || count == 0 || count == one.tiers.size() ||
         (which == Known::kSingles && count == 1);
}

bool says_something(const MeasuredOperator& op) {
  return op.operands.size() >= 2 && known(op, Known::kEndpoints).size() >= 2 &&
         known(op, Known::kEndpoints).size() < op.measurements.size();
}

// Mean cost of the operator's mixes that are not known; none: no such mix.
Result<std::optional<double>> cost(const TransferModel& model,
                                   const MeasuredOperator& op, Known which) {
  const auto times = OperatorTimes::fit(model, op.operands, known(op, which));
  if (!times) return times.error();
  double sum = 0;
  int count = 0;
  for (const auto& one : op.measurements) {
    if (is_known(one, which)) continue;
    const double off =
        std::abs(std::log(times->predict_ns(one.tiers) / one.ns));
    sum += off / (off + kHalf);
    ++count;
  }
  if (count == 0) return std::optional<double>();
  return std::optional(sum / count);
}

Result<double> cost(const TransferModel& model,
                    std::span<const MeasuredOperator* const> operators) {
  double sum = 0;
  int count = 0;
  for (const MeasuredOperator* op : operators) {
    for (const auto& [which, weight] :
         {std::pair{Known::kEndpoints, 1}, {Known::kSingles, 2}}) {
      const auto one = cost(model, *op, which);
      if (!one) return one.error();
      if (!*one) continue;
      sum += weight * **one;
      count += weight;
    }
  }
  return sum / count;
}

std::array<double*, 10> numbers(TransferModel& model) {
  auto& slow = model.tiers[1];
  return {&slow.read_ns_per_byte, &slow.write_ns_per_byte,
          &slow.write_ns,         &model.cached_bytes,
          &model.hidden,          &model.read_doubt,
          &model.write_doubt,     &model.noise,
          &model.write_noise,     &model.endpoint};
}

}  // namespace

std::vector<OperatorTimes::Measurement> known(const MeasuredOperator& op,
                                              Known which) {
  std::vector<OperatorTimes::Measurement> out;
  std::copy_if(op.measurements.begin(), op.measurements.end(),
               std::back_inserter(out),
               [&](const auto& one) { return is_known(one, which); });
  return out;
}

Result<TransferModel> fit_transfer(
    std::span<const MeasuredOperator* const> operators, TransferModel start) {
  if (auto ok = start.check(); !ok) return ok.error();
  if (start.tiers.size() != 2) {
    return invalid("the transfer model has " +
                   std::to_string(start.tiers.size()) +
                   " tiers; it is fitted on two");
  }
  std::vector<const MeasuredOperator*> useful;
  std::copy_if(operators.begin(), operators.end(), std::back_inserter(useful),
               [](const MeasuredOperator* op) { return says_something(*op); });
  if (useful.empty()) {
    return invalid(
        "no operator was measured at both endpoints and under a mix");
  }
  auto best = cost(start, useful);
  if (!best) return best.error();
  for (const double step : {1.5, 1.3, 1.2, 1.1, 1.1}) {
    for (std::size_t i = 0; i < numbers(start).size(); ++i) {
      for (const double factor : {step, 1 / step}) {
        bool better = true;
        while (better) {
          TransferModel next = start;
          *numbers(next)[i] *= factor;
          const auto now = cost(next, useful);
          better = now && *now < *best - 1e-6;
          if (better) {
            start = next;
            best = now;
          }
        }
      }
    }
  }
  return start;
}

}  // namespace thermocline
