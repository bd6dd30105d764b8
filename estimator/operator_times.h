// OperatorTimes: the time of one operator under any mix of tiers, from a few
// measured times.
//
// The modelled time is base + one penalty for each tensor that lies in a slow
// tier. TransferModel gives each penalty in advance; what was measured
// corrects them, and the base, to where both are most credible: each penalty
// may be off by a factor (log-normal, TransferModel's doubts), each
// measurement by noise that grows with the share of slow writes and has
// outliers (Student's t). So one number more than there are unknowns, as
// all-slow is beside all-fast and the single-slow times, is not lost but
// averages noise out; with the two endpoints alone their difference is shared
// out by size and direction; and one endpoint is enough for an answer.
//
// Penalties add up. Overlap of slow reads with slow writes, and their
// interference, were tried as one exponent and as two: on the Optane kernels
// neither helped kinds of operators on which it was not fitted, because what
// they change in the sum the measured all-slow time has already corrected.
//
// predict_ns() returns a measured mix as measured, so endpoints are exact. As
// long as nothing but endpoints was measured it keeps every other mix within
// them. Beside other measurements an endpoint is one noisy time of several,
// and no bound: it would make all mixes beyond it equal, among which nobody
// could choose. modelled_ns() is monotone in every tensor's penalty, so among
// mixes that were not measured predict_ns() is, too. Measured times are not
// smoothed: where they contradict one another, so does predict_ns() beside
// them.
//
// Thread safety: const after fit().
#pragma once

#include <span>
#include <vector>

#include "estimator/transfer.h"

namespace thermocline {

class OperatorTimes {
 public:
  struct Operand {
    Bytes bytes = 0;
    bool written = false;
  };
  struct Measurement {
    std::vector<TierId> tiers;  // one for each operand
    double ns = 0;
  };
  static constexpr std::size_t kMostMeasurements = 512;

  /// Repeated measurements of one mix count as their mean. Errors: kInvalid
  /// for no measurement or more than kMostMeasurements, a time that is not
  /// positive and finite, a number of tiers that is not that of the operands,
  /// a tier that the model does not have, or a model that fails check().
  /// Cost: O(measurements^2 * (operands + measurements)), up to 20 times.
  static Result<OperatorTimes> fit(const TransferModel& model,
                                   std::span<const Operand> operands,
                                   std::span<const Measurement> measurements);

  std::size_t operands() const {
    return tiers_ == 0 ? 0 : penalty_ns_.size() / tiers_;
  }

  /// Requires, here and below: one tier of the model for each operand.
  /// Cost: O(operands * log(measurements)).
  double predict_ns(std::span<const TierId> tiers) const;
  /// What the fit says, also where it was measured. Never below a hundredth
  /// of the base. Cost: O(operands).
  double modelled_ns(std::span<const TierId> tiers) const;
  /// What the operand adds when it lies in the tier, as fitted.
  double penalty_ns(std::size_t operand, TierId tier) const {
    return penalty_ns_[operand * tiers_ + tier];
  }

 private:
  void solve(const TransferModel& model, std::span<const Operand> operands);

  std::size_t tiers_ = 0;
  double base_ns_ = 0;
  std::vector<double> penalty_ns_;     // operand by tier
  std::vector<Measurement> measured_;  // sorted by tiers, each mix once
  bool only_endpoints_ = true;         // no mix was measured
  std::vector<double> least_ns_;  // by lowest tier of a mix: not below this
  std::vector<double> most_ns_;   // by highest tier of a mix: not above this
};

}  // namespace thermocline
