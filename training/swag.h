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
//
// Resumable: the moments go into a checkpoint (add_to()), the columns are
// durable where they lie, each from its update on. A job that is resumed finds
// columns that it wrote after its checkpoint; with `spare` rows of the store
// more than K those did not take the place of any that the checkpoint needs,
// as long as no more than `spare` updates came after it. Then all is bit for
// bit as without the crash. Update i lies in row i mod rows.
// Includes no torch. Thread safety: none. Ownership: owns the store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "traces/result.h"
#include "training/row_store.h"

namespace at {
class Tensor;
}

namespace thermocline {

class TrainingState;

class Swag {
 public:
  /// Over store.width() parameters, and the last K = store.rows() - spare
  /// deviations. `spare`: updates between two checkpoints, at the most; with 0
  /// a resumed job's samples are right only K updates later. Requires: spare is
  /// 0 or more, and below store.rows().
  explicit Swag(RowStore store, std::int64_t spare = 0);
  Swag(Swag&&) noexcept;
  ~Swag();

  /// One more sample of the parameters: store.width() floats, on the CPU.
  /// Errors: kIo; kInvalid when it has another size.
  Status update(const at::Tensor& parameters);

  /// All but the columns, to be saved and restored as NAME.first, NAME.second
  /// and NAME.updates. To be resumed with the same store, opened again, and the
  /// same `spare`. It refers to this posterior, wherever it is moved.
  void add_to(TrainingState& state, const std::string& name);

  std::int64_t updates() const;
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
  std::int64_t spare_;
  std::unique_ptr<Moments> moments_;
};

}  // namespace thermocline
