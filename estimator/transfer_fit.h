// fit_transfer: a TransferModel from operators measured under many mixes.
//
// Its numbers are moved, one at a time and by shrinking factors, as long as
// the fitting operators' mixes are predicted better: each operator from its
// two endpoints and the single-slow times (which counts twice), and again from
// the endpoints alone.
// An error e (relative, as a logarithm) costs |e| / (|e| + 10 %), so outliers
// do not rule, and every operator counts the same, however many its mixes.
// Deterministic; a local optimum near the start.
//
// Thread safety: a pure function.
#pragma once

#include <span>
#include <vector>

#include "estimator/operator_times.h"

namespace thermocline {

struct MeasuredOperator {
  std::vector<OperatorTimes::Operand> operands;
  std::vector<OperatorTimes::Measurement> measurements;  // of tiers 0 and 1
};

/// How much of an operator's measurements a prediction is given.
enum class Known { kEndpoints, kSingles, kAll };

/// Those of the operator's measurements that are known: all in tier 0 or all
/// in tier 1; with kSingles also those with one operand in tier 1.
std::vector<OperatorTimes::Measurement> known(const MeasuredOperator& op,
                                              Known which);

/// Operators without both endpoints, or with fewer than two operands, say
/// nothing and are passed over. Errors: kInvalid for a model without exactly
/// two tiers, a measurement that OperatorTimes refuses, or no operator that
/// says anything.
/// Cost: some 400 evaluations of OperatorTimes::fit for each operator.
Result<TransferModel> fit_transfer(
    std::span<const MeasuredOperator* const> operators, TransferModel start);

}  // namespace thermocline
