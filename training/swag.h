// Swag: the posterior of a network's parameters, larger than DRAM.
//
// After Wood and others, "Non-Volatile Memory Accelerated Posterior
// Estimation" (2022): SWAG (Maddox and others, NeurIPS 2019) keeps, beside two
// running moments of the n parameters, the last K deviations from the mean, an
// n x K matrix that for large K fits no DRAM. Here it lies column by column (a
// column is a row of a RowStore): each update is one stream of 4n bytes. The
// moments stay in DRAM.
//
// The public code of the paper takes the deviation from the second moment
// instead of the mean, and forgets to divide by the count at the end; this
// follows SWAG: dev_i = theta_i - mean_i, variance = E[theta^2] - mean^2.
// Where SWAG leaves the place of the ring open, column i mod K holds update i.
// Includes no torch. Thread safety: none. Ownership: owns the store.
#pragma once

#include <memory>

#include "traces/result.h"
#include "training/row_store.h"

namespace at {
class Tensor;
}

namespace thermocline {

class Swag {
 public:
  /// Over store.width() parameters, and the last store.rows() deviations.
  explicit Swag(RowStore store);
  Swag(Swag&&) noexcept;
  ~Swag();

  /// One more sample of the parameters: store.width() floats, on the CPU.
  /// Errors: kIo; kInvalid when it has another size.
  Status update(const at::Tensor& parameters);

  std::int64_t updates() const { return updates_; }
  at::Tensor mean() const;
  /// Never below 1e-30, as in SWAG.
  at::Tensor variance() const;
  /// mean + sqrt(variance / 2) * z1 + D z2 / sqrt(2 (K - 1)), with z1 and z2
  /// from LibTorch's generator. Reads all of D once, a column at a time.
  /// Requires: updates() >= 2.
  at::Tensor sample() const;

 private:
  struct Moments;
  RowStore store_;
  std::unique_ptr<Moments> moments_;
  std::int64_t updates_ = 0;
};

}  // namespace thermocline
