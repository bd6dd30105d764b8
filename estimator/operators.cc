#include "estimator/operators.h"

#include <algorithm>

namespace thermocline {
namespace {

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

Status check(const Trace& trace, const Machine& machine) {
  if (machine.tiers.empty()) return invalid("the machine has no tiers");
  if (trace.operators.empty()) {
    return invalid("the trace has no operators; record with the observer");
  }
  for (const Tier& tier : machine.tiers) {
    if (tier.read_bytes_per_s <= 0 || tier.write_bytes_per_s <= 0) {
      return invalid("the bandwidth of tier \"" + tier.name +
                     "\" is not known; measure it with thermocline probe");
    }
  }
  return {};
}

}  // namespace

Result<OperatorModel> OperatorModel::from_trace(const Trace& trace,
                                                const Machine& machine) {
  if (auto ok = check(trace, machine); !ok) return ok.error();
  const auto recorded = recorded_tier_of(trace, machine);
  if (!recorded) return recorded.error();

  OperatorModel out;
  out.recorded_ = *recorded;
  const Tier& there = machine.tiers[*recorded];
  out.least_ = 1;
  for (const Tier& tier : machine.tiers) {
    out.read_ns_.push_back(1e9 / tier.read_bytes_per_s -
                           1e9 / there.read_bytes_per_s);
    out.write_ns_.push_back(1e9 / tier.write_bytes_per_s -
                            1e9 / there.write_bytes_per_s);
    out.least_ =
        std::min({out.least_, there.read_bytes_per_s / tier.read_bytes_per_s,
                  there.write_bytes_per_s / tier.write_bytes_per_s});
  }
  for (const Tensor& tensor : trace.tensors) {
    out.position_[tensor.serial] =
        static_cast<std::uint32_t>(out.bytes_.size());
    out.bytes_.push_back(tensor.bytes);
  }
  const auto positions = [&](const std::vector<ObjectId>& serials) {
    std::vector<std::uint32_t> found;
    for (const ObjectId serial : serials) {
      const auto at = out.position_.find(serial);
      if (at != out.position_.end()) found.push_back(at->second);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  };
  for (const Operator& op : trace.operators) {
    out.operators_.push_back({static_cast<double>(op.end - op.start),
                              positions(op.reads), positions(op.writes)});
  }
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
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    out.steps_.push_back({static_cast<double>(cuts[s + 1] - cuts[s]),
                          first_from(cuts[s]), first_from(cuts[s + 1])});
  }
  out.run_ns_ = static_cast<double>(trace.run_ns());
  return out;
}

std::size_t OperatorModel::position(ObjectId serial) const {
  const auto at = position_.find(serial);
  CHECK(at != position_.end());
  return at->second;
}

double OperatorModel::operator_ns(std::size_t i,
                                  std::span<const TierId> placement) const {
  const Op& op = operators_[i];
  double change = 0;
  for (const auto at : op.reads) {
    change += static_cast<double>(bytes_[at]) * read_ns_[placement[at]];
  }
  for (const auto at : op.writes) {
    change += static_cast<double>(bytes_[at]) * write_ns_[placement[at]];
  }
  return std::max(op.measured_ns + change, op.measured_ns * least_);
}

double OperatorModel::change(std::size_t first, std::size_t last,
                             std::span<const TierId> placement) const {
  CHECK(placement.size() == bytes_.size());
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) {
    sum += operator_ns(i, placement) - operators_[i].measured_ns;
  }
  return sum;
}

double OperatorModel::step_ns(std::size_t s,
                              std::span<const TierId> placement) const {
  const Step& step = steps_[s];
  return step.measured_ns + change(step.first, step.last, placement);
}

double OperatorModel::job_ns(std::span<const TierId> placement) const {
  return run_ns_ + change(0, operators_.size(), placement);
}

}  // namespace thermocline
