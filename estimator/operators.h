// OperatorModel: a cost model for tensor traces. How long does each operator,
// step and job take when its tensors lie elsewhere?
//
// Each operator has its OperatorTimes: its measured time under one or both
// endpoints, and for each tensor that it reads or writes (whole, once) the
// penalty that the machine's bandwidths give. From one trace that is an upper
// bound of the penalty for operators that compute more than they move, and
// for tensors that stay in the cache; from a pair of traces the penalties are
// fitted to what the operator lost. Operators of several threads add up as if
// they ran one after another. What lies outside operators takes as long as in
// the trace; of a pair, between the two times in proportion to the operators.
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
#include "estimator/operator_times.h"
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

  /// From the same job recorded all fast and all slow; both are then exact.
  /// Tensors are those of `fast`. Operators are paired by their order. Errors:
  /// as above, and kInvalid for traces that are not of two endpoints or whose
  /// operators, tensors' sizes or steps differ (the message names the first).
  static Result<OperatorModel> from_pair(const Trace& fast, const Trace& slow,
                                         const Machine& machine);

  std::size_t tensors() const { return bytes_.size(); }
  std::size_t operators() const { return operators_.size(); }
  std::size_t steps() const { return steps_.size(); }
  std::size_t tiers() const { return read_ns_per_byte_.size(); }
  /// Of a pair: 0.
  TierId recorded_tier() const { return recorded_; }
  /// Position of a tensor by its serial. Requires: the trace has it.
  std::size_t position(ObjectId serial) const;
  Bytes bytes(std::size_t tensor) const { return bytes_[tensor]; }

  /// Time of operator i (in the trace's order); positive. With every tensor in
  /// a recorded tier it is the measured time exactly.
  /// Requires, here and below: placement.size() == tensors().
  double operator_ns(std::size_t i, std::span<const TierId> placement) const;
  /// What the tensor adds to operator i when it lies in that tier instead of
  /// the fastest, as fitted: the part of operator_ns() that is separable. 0
  /// where the operator does not use it.
  double penalty_ns(std::size_t i, std::size_t tensor, TierId tier) const;
  /// Time of step s: from its mark (a name that begins with "step") to the
  /// next or to the end, plus what its operators lose or gain.
  double step_ns(std::size_t s, std::span<const TierId> placement) const;
  /// Time of the whole job, what lies outside operators and steps included.
  double job_ns(std::span<const TierId> placement) const;
  /// The same, when all its operators together take so long.
  double job_ns(double operators_ns) const { return total(job_, operators_ns); }

  /// How long the transfers of operator i hold a tier's link for reads, or
  /// for writes.
  double link_ns(std::size_t i, std::span<const TierId> placement, TierId tier,
                 bool written) const;
  /// How long a copy of the tensor between two tiers takes alone: the slower
  /// of reading the one and writing the other; none within a tier.
  double copy_ns(std::size_t tensor, TierId from, TierId to) const;

 private:
  struct Op {
    std::vector<std::uint32_t> tensors;  // positions: reads, then writes
    std::size_t reads = 0;
    OperatorTimes times;
  };
  struct Span {  // a step, or the job
    std::size_t first = 0;
    std::size_t last = 0;      // operators that start within
    double operators_ns[2]{};  // as recorded; of one trace, both the same
    double outside_ns[2]{};    // the rest
  };
  struct Recorded;

  static double total(const Span& span, double operators_ns);
  double operators_ns(const Span& span,
                      std::span<const TierId> placement) const;
  static Result<OperatorModel> make(std::span<const Recorded> traces,
                                    const Machine& machine);

  TierId recorded_ = 0;
  std::vector<double> read_ns_per_byte_;  // by tier
  std::vector<double> write_ns_per_byte_;
  std::vector<Bytes> bytes_;
  std::unordered_map<ObjectId, std::uint32_t> position_;
  std::vector<Op> operators_;
  std::vector<Span> steps_;
  Span job_;
};

}  // namespace thermocline
