// OperatorModel: a thin cost model for tensor traces. How long does each
// operator, step and job take when its tensors lie elsewhere?
//
// An operator's measured time holds for the tier under which the trace was
// recorded. A tensor that lies in another tier adds, for each operator that
// reads it, bytes * (1/read bandwidth there - 1/read bandwidth as recorded),
// and likewise for writes. Every operator is taken to read and write its
// tensors whole, once, and to overlap none of it: an upper bound of the
// penalty for operators that compute more than they move, and for tensors that
// stay in the cache. Operators of several threads add up as if they ran one
// after another.
//
// Thread safety: const after construction. Units: nanoseconds of the trace's
// clock. A placement gives a tier for each tensor, by its position in
// Trace::tensors (position() finds it by serial).
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/machine.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

class OperatorModel {
 public:
  /// Trace::Info::placement "all_slow" means recorded in the slowest tier;
  /// "all_fast", "first_touch" and "" in the fastest. Errors: kInvalid for any
  /// other placement, a trace without operators, or a machine without
  /// bandwidths; the message names what is missing.
  static Result<OperatorModel> from_trace(const Trace& trace,
                                          const Machine& machine);

  std::size_t tensors() const { return bytes_.size(); }
  std::size_t operators() const { return operators_.size(); }
  std::size_t steps() const { return steps_.size(); }
  TierId recorded_tier() const { return recorded_; }
  /// Position of a tensor by its serial. Requires: the trace has it.
  std::size_t position(ObjectId serial) const;

  /// Time of operator i (in the trace's order). With every tensor in
  /// recorded_tier() it is the measured time exactly. Never less than the
  /// measured time would shrink to if all of it were transfer.
  /// Requires, here and below: placement.size() == tensors().
  double operator_ns(std::size_t i, std::span<const TierId> placement) const;
  /// Time of step s: from its mark (a name that begins with "step") to the
  /// next or to the end, plus what its operators lose or gain.
  double step_ns(std::size_t s, std::span<const TierId> placement) const;
  /// Time of the whole job, what lies outside operators and steps included.
  double job_ns(std::span<const TierId> placement) const;

 private:
  struct Op {
    double measured_ns = 0;
    std::vector<std::uint32_t> reads;  // positions, each once
    std::vector<std::uint32_t> writes;
  };
  struct Step {
    double measured_ns = 0;
    std::size_t first = 0;  // operators that start within
    std::size_t last = 0;
  };
  double change(std::size_t first, std::size_t last,
                std::span<const TierId> placement) const;

  TierId recorded_ = 0;
  std::vector<double> read_ns_;  // extra nanoseconds a byte, by tier
  std::vector<double> write_ns_;
  double least_ = 0;  // share of a measured time that always remains
  double run_ns_ = 0;
  std::vector<Bytes> bytes_;
  std::unordered_map<ObjectId, std::uint32_t> position_;
  std::vector<Op> operators_;
  std::vector<Step> steps_;
};

}  // namespace thermocline
