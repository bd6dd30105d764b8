// CopyEngine: makes one copy after another beside a job.
//
// While an operator runs, a copy gets only what the operator leaves of the
// links that both need: reads of the tier it comes from, writes of the tier it
// goes to. Whoever waits for the rest gives it the links to itself. A limit in
// bytes per second holds in both cases. What a copy costs the operator in turn
// is left out.
//
// Thread safety: none. Units: nanoseconds. The model must outlive it.
#pragma once

#include <limits>
#include <span>

#include "estimator/operators.h"

namespace thermocline {

class CopyEngine {
 public:
  explicit CopyEngine(
      const OperatorModel& model,
      double bytes_per_s = std::numeric_limits<double>::infinity())
      : model_(&model), limit_ns_per_byte_(1e9 / bytes_per_s) {}

  bool busy() const { return left_ > 0; }
  /// Takes up a copy; one within a tier is finished at once. Requires: !busy().
  void begin(std::size_t tensor, TierId from, TierId to);
  /// Goes on while operator i runs for `ns`, of which the share `unused` is not
  /// yet used by other copies; takes from it what it needs.
  void advance(std::size_t i, std::span<const TierId> placement, double ns,
               double& unused);
  /// Finishes the copy while the job waits; returns how long that takes.
  double finish();
  /// Gives the copy up.
  void stop() { left_ = 0; }

 private:
  const OperatorModel* model_;
  double limit_ns_per_byte_;
  TierId from_ = 0;
  TierId to_ = 0;
  double link_ns_ = 0;   // all of it, on links of its own
  double limit_ns_ = 0;  // all of it, by the limit
  double left_ = 0;      // share that is not yet copied
};

}  // namespace thermocline
