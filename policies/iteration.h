// Iteration: one step of a training job that repeats, as planners see it.
//
// A planner decides ahead: it knows which operator comes when, what it reads
// and writes, and what lies in slow memory costs it. All of that comes from a
// recorded trace with tensors and operators. Tensors and operators are numbered
// from 0 within the step; those numbers are what a Plan speaks of.
//
// The step repeats. So a tensor that is alive when the step begins is either
// persistent (weights, optimizer state: alive at every operator), or was born
// late in the step before (its lifetime wraps: gradients that are freed by the
// next step). The wrapping tensor of one step and its successor are one Tensor
// here, found by size and by what becomes of it.
//
// Thread safety: const after construction. Units: bytes as the allocator counts
// them (rounded up to kAlignment), nanoseconds of the trace's clock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estimator/machine.h"
#include "estimator/operators.h"
#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

struct StepSlice;

class Iteration {
 public:
  static constexpr Bytes kAlignment = 64;  // of LibTorch's CPU allocator

  // One operator's use of one tensor.
  struct Use {
    std::uint32_t op = 0;  // operator, or tensor in a list of an operator's
    bool read = false;
    bool written = false;
    // What it adds to the operator's time when the tensor lies in that tier
    // (0 in the fastest): the separable part of OperatorModel.
    std::vector<double> penalty_ns;
  };
  struct Tensor {
    ObjectId serial = 0;  // in the trace
    Bytes bytes = 0;      // a multiple of kAlignment, positive
    std::string label;    // as the trace has it, or empty
    // Alive at operators born <= k < dies; where it wraps, at k >= born and at
    // k < dies. Persistent: born 0, dies = operators(), wraps.
    std::size_t born = 0;
    std::size_t dies = 0;
    bool wraps = false;
    bool persistent = false;
    // In the order of its life: from its birth on, so that for one that wraps,
    // uses of the next step's beginning come last. May be empty.
    std::vector<Use> uses;
    Address address = 0;  // in the trace; neighbours there are on like pages

    bool alive(std::size_t op) const {
      return wraps ? op >= born || op < dies : op >= born && op < dies;
    }
    /// Lives through at most `operators` operators of one step.
    bool short_lived(std::size_t operators) const {
      return !wraps && dies - born <= operators;
    }
    std::size_t first_use() const { return uses.empty() ? born : uses[0].op; }
    std::size_t last_use() const {
      return uses.empty() ? born : uses.back().op;
    }
  };
  struct Operator {
    std::string name;
    std::string layer;
    Phase phase = Phase::kUnknown;
    std::vector<std::uint32_t> reads;  // tensors, each once, ascending
    std::vector<std::uint32_t> writes;
    std::vector<std::uint32_t> born;  // alive from this operator on
    std::vector<std::uint32_t> dead;  // no longer alive at this operator
  };

  /// The step of a trace that stands for the others: the first, but never the
  /// trace's very first, that is like its successor operator for operator; if
  /// there is none, the one before the last; notes() says so. A trace in which
  /// no repetition is found (or whose memory grows with each supposed step by
  /// more than 1 % of its peak: a layer that repeats, not the job) is one step
  /// as a whole. `step` asks for one, counted from 0.
  ///
  /// Tensors that are alive at the end without a counterpart at the beginning
  /// are taken to die with the step. Of a trace without times (clock "nodes")
  /// each operator is taken to be bound by memory.
  /// Errors: kInvalid for no operators or tensors, no such step, and what
  /// OperatorModel::from_trace says of the machine or placement.
  static Result<Iteration> from_trace(const Trace& trace,
                                      const Machine& machine,
                                      std::optional<std::size_t> step = {});
  /// From the same job recorded all fast and all slow: what operators lose is
  /// then measured. Errors: as above and those of OperatorModel::from_pair.
  static Result<Iteration> from_pair(const Trace& fast, const Trace& slow,
                                     const Machine& machine,
                                     std::optional<std::size_t> step = {});

  std::size_t tensors() const { return tensors_.size(); }
  std::size_t operators() const { return operators_.size(); }
  std::size_t tiers() const { return machine_.tiers.size(); }
  const Tensor& tensor(std::size_t t) const { return tensors_[t]; }
  const Operator& op(std::size_t i) const { return operators_[i]; }
  const Machine& machine() const { return machine_; }
  /// Times of operators, of copies and of the step (its job_ns()); its tensors
  /// and operators have the numbers of this step's.
  const OperatorModel& times() const { return times_; }

  /// The step's time under one placement for all of it. Endpoints: all 0, and
  /// all tiers() - 1.
  double step_ns(std::span<const TierId> placement) const {
    return times_.job_ns(placement);
  }
  double all_fast_ns() const;
  double all_slow_ns() const;
  /// Bytes that are alive at operator i, and the most at any.
  Bytes live_bytes(std::size_t i) const { return live_[i]; }
  Bytes peak_bytes() const { return peak_; }

  const std::string& job() const { return job_; }
  /// What the user should know, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static Result<Iteration> make(const Trace& fast, const Trace* slow,
                                const Machine& machine,
                                std::optional<std::size_t> step);
  void describe(const StepSlice& slice);
  void count();
  Iteration(OperatorModel times, Machine machine)
      : times_(std::move(times)), machine_(std::move(machine)) {}

  OperatorModel times_;
  Machine machine_;
  std::vector<Tensor> tensors_;
  std::vector<Operator> operators_;
  std::vector<Bytes> live_;
  Bytes peak_ = 0;
  std::string job_;
  std::vector<std::string> notes_;
};

}  // namespace thermocline
