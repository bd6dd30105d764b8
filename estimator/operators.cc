#include "estimator/operators.h"

#include <algorithm>

namespace thermocline {
namespace {

constexpr const char* kSame =
    "; record the same job twice, with the same seed, or give one trace alone";

Result<TierId> recorded_tier_of(const Trace& trace, const Machine& machine) {
  const std::string& placement = trace.info.placement;
  if (placement == "all_slow") {
    return static_cast<TierId>(machine.tiers.size() - 1);
  }
  if (placement == "all_fast" || placement == "first_touch" ||
      placement.empty()) {
    return TierId{0};
  }
  return invalid("a trace of placement \"" + placement +
                 "\" mixes tiers; record under all_slow or all_fast");
}

using Positions = std::unordered_map<ObjectId, std::uint32_t>;

// Each once, tensors that the trace does not have left out.
std::vector<std::uint32_t> positions_of(const std::vector<ObjectId>& serials,
                                        const Positions& known) {
  std::vector<std::uint32_t> found;
  for (const ObjectId serial : serials) {
    const auto at = known.find(serial);
    if (at != known.end()) found.push_back(at->second);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Positions positions_in(const Trace& trace) {
  Positions out;
  for (const Tensor& tensor : trace.tensors) {
    out.emplace(tensor.serial, static_cast<std::uint32_t>(out.size()));
  }
  return out;
}

struct Part {
  std::size_t first = 0;
  std::size_t last = 0;
  double ns = 0;
};

// The steps, and last the whole job.
std::vector<Part> parts_of(const Trace& trace) {
  const auto first_from = [&](Nanos time) {
    const auto at = std::lower_bound(
        trace.operators.begin(), trace.operators.end(), time,
        [](const Operator& op, Nanos t) { return op.start < t; });
    return static_cast<std::size_t>(at - trace.operators.begin());
  };
  std::vector<Nanos> cuts;
  for (const Mark& mark : trace.marks) {
    if (mark.name.rfind("step", 0) == 0) cuts.push_back(mark.time);
  }
  cuts.push_back(std::max(trace.start_ns() + trace.run_ns(),
                          cuts.empty() ? 0 : cuts.back()));
  std::vector<Part> out;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    out.push_back({first_from(cuts[s]), first_from(cuts[s + 1]),
                   static_cast<double>(cuts[s + 1] - cuts[s])});
  }
  out.push_back(
      {0, trace.operators.size(), static_cast<double>(trace.run_ns())});
  return out;
}

// An operator may take no time that the clock can tell.
double duration(const Operator& op) {
  return std::max(1e-3, static_cast<double>(op.end - op.start));
}

}  // namespace

struct OperatorModel::Recorded {
  const Trace& trace;
  TierId tier;
};

Result<OperatorModel> OperatorModel::make(std::span<const Recorded> traces,
                                          const Machine& machine) {
  const auto transfer = TransferModel::from_machine(machine);
  if (!transfer) return transfer.error();
  const Trace& first = traces.front().trace;
  OperatorModel out;
  out.recorded_ = traces.front().tier;
  for (const Tier& tier : machine.tiers) {
    out.read_ns_per_byte_.push_back(1e9 / tier.read_bytes_per_s);
    out.write_ns_per_byte_.push_back(1e9 / tier.write_bytes_per_s);
  }
  for (const Tensor& tensor : first.tensors) out.bytes_.push_back(tensor.bytes);
  out.position_ = positions_in(first);

  for (std::size_t i = 0; i < first.operators.size(); ++i) {
    Op op;
    op.tensors = positions_of(first.operators[i].reads, out.position_);
    op.reads = op.tensors.size();
    const auto writes = positions_of(first.operators[i].writes, out.position_);
    op.tensors.insert(op.tensors.end(), writes.begin(), writes.end());
    std::vector<OperatorTimes::Operand> operands;
    for (const std::uint32_t at : op.tensors) {
      operands.push_back({out.bytes_[at], operands.size() >= op.reads});
    }
    std::vector<OperatorTimes::Measurement> measured;
    for (const Recorded& one : traces) {
      measured.push_back({std::vector<TierId>(operands.size(), one.tier),
                          duration(one.trace.operators[i])});
    }
    auto times = OperatorTimes::fit(*transfer, operands, measured);
    if (!times) {
      return times.error().within("operator " + first.operators[i].name);
    }
    op.times = *std::move(times);
    out.operators_.push_back(std::move(op));
  }

  for (std::size_t t = 0; t < 2; ++t) {
    const Trace& trace = traces[std::min(t, traces.size() - 1)].trace;
    const auto parts = parts_of(trace);
    out.steps_.resize(parts.size());
    for (std::size_t s = 0; s < parts.size(); ++s) {
      Span& span = out.steps_[s];
      if (t == 0) span.first = parts[s].first, span.last = parts[s].last;
      for (std::size_t i = span.first; i < span.last; ++i) {
        span.operators_ns[t] += duration(trace.operators[i]);
      }
      span.outside_ns[t] = parts[s].ns - span.operators_ns[t];
    }
  }
  out.job_ = out.steps_.back();
  out.steps_.pop_back();
  return out;
}

Result<OperatorModel> OperatorModel::from_trace(const Trace& trace,
                                                const Machine& machine) {
  if (trace.operators.empty()) {
    return invalid("the trace has no operators; record with the observer");
  }
  const auto tier = recorded_tier_of(trace, machine);
  if (!tier) return tier.error();
  const Recorded recorded[] = {{trace, *tier}};
  return make(recorded, machine);
}

Result<OperatorModel> OperatorModel::from_pair(const Trace& fast,
                                               const Trace& slow,
                                               const Machine& machine) {
  const auto tier_fast = recorded_tier_of(fast, machine);
  if (!tier_fast) return tier_fast.error();
  const auto tier_slow = recorded_tier_of(slow, machine);
  if (!tier_slow) return tier_slow.error();
  if (*tier_fast != 0 || *tier_slow == 0) {
    return invalid("a pair is one trace of all_fast and one of all_slow");
  }
  if (fast.operators.empty() ||
      fast.operators.size() != slow.operators.size()) {
    return invalid("the traces have " + std::to_string(fast.operators.size()) +
                   " and " + std::to_string(slow.operators.size()) +
                   " operators" + kSame);
  }
  // In the operands' order: the traces' own need not be the same.
  const auto sizes = [](const Trace& trace, const Positions& known,
                        const std::vector<ObjectId>& serials) {
    std::vector<Bytes> out;
    for (const ObjectId serial : serials) {
      const auto at = known.find(serial);
      if (at != known.end()) out.push_back(trace.tensors[at->second].bytes);
    }
    return out;
  };
  const auto in_fast = positions_in(fast);
  const auto in_slow = positions_in(slow);
  for (std::size_t i = 0; i < fast.operators.size(); ++i) {
    const Operator& a = fast.operators[i];
    const Operator& b = slow.operators[i];
    if (a.name != b.name) {
      return invalid("operator " + std::to_string(i) + " is " + a.name +
                     " in one trace and " + b.name + " in the other" + kSame);
    }
    if (sizes(fast, in_fast, a.reads) != sizes(slow, in_slow, b.reads) ||
        sizes(fast, in_fast, a.writes) != sizes(slow, in_slow, b.writes)) {
      return invalid("operator " + std::to_string(i) + ", " + a.name +
                     ", has tensors of other sizes in the other trace" + kSame);
    }
  }
  const auto parts_fast = parts_of(fast);
  const auto parts_slow = parts_of(slow);
  if (!std::equal(parts_fast.begin(), parts_fast.end(), parts_slow.begin(),
                  parts_slow.end(), [](const Part& a, const Part& b) {
                    return a.first == b.first && a.last == b.last;
                  })) {
    return invalid(
        std::string("the steps of the two traces have different operators") +
        kSame);
  }
  const Recorded recorded[] = {{fast, *tier_fast}, {slow, *tier_slow}};
  return make(recorded, machine);
}

std::size_t OperatorModel::position(ObjectId serial) const {
  const auto at = position_.find(serial);
  CHECK(at != position_.end());
  return at->second;
}

double OperatorModel::operator_ns(std::size_t i,
                                  std::span<const TierId> placement) const {
  const Op& op = operators_[i];
  thread_local std::vector<TierId> tiers;
  tiers.clear();
  for (const auto at : op.tensors) tiers.push_back(placement[at]);
  return op.times.predict_ns(tiers);
}

double OperatorModel::penalty_ns(std::size_t i, std::size_t tensor,
                                 TierId tier) const {
  const Op& op = operators_[i];
  double sum = 0;
  for (std::size_t k = 0; k < op.tensors.size(); ++k) {
    if (op.tensors[k] == tensor) sum += op.times.penalty_ns(k, tier);
  }
  return sum;
}

double OperatorModel::total(const Span& span, double operators_ns) {
  const double wide = span.operators_ns[1] - span.operators_ns[0];
  const double share =
      wide == 0
          ? 0
          : std::clamp((operators_ns - span.operators_ns[0]) / wide, 0.0, 1.0);
  return operators_ns + span.outside_ns[0] +
         share * (span.outside_ns[1] - span.outside_ns[0]);
}

double OperatorModel::operators_ns(const Span& span,
                                   std::span<const TierId> placement) const {
  CHECK(placement.size() == bytes_.size());
  double sum = 0;
  for (std::size_t i = span.first; i < span.last; ++i) {
    sum += operator_ns(i, placement);
  }
  return sum;
}

double OperatorModel::step_ns(std::size_t s,
                              std::span<const TierId> placement) const {
  return total(steps_[s], operators_ns(steps_[s], placement));
}

double OperatorModel::job_ns(std::span<const TierId> placement) const {
  return total(job_, operators_ns(job_, placement));
}

double OperatorModel::link_ns(std::size_t i, std::span<const TierId> placement,
                              TierId tier, bool written) const {
  const Op& op = operators_[i];
  double bytes = 0;
  for (std::size_t k = written ? op.reads : 0;
       k < (written ? op.tensors.size() : op.reads); ++k) {
    const auto at = op.tensors[k];
    if (placement[at] == tier) bytes += static_cast<double>(bytes_[at]);
  }
  return bytes * (written ? write_ns_per_byte_ : read_ns_per_byte_)[tier];
}

double OperatorModel::copy_ns(std::size_t tensor, TierId from,
                              TierId to) const {
  if (from == to) return 0;
  return static_cast<double>(bytes_[tensor]) *
         std::max(read_ns_per_byte_[from], write_ns_per_byte_[to]);
}

}  // namespace thermocline
