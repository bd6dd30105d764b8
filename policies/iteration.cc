#include "policies/iteration.h"

#include <algorithm>
#include <cmath>

#include "policies/step_slice.h"

namespace thermocline {
namespace {

std::string command_of(const Trace& trace) {
  std::string out;
  for (const auto& word : trace.info.command) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

std::vector<std::uint32_t> numbers(const std::vector<ObjectId>& serials) {
  std::vector<std::uint32_t> out;
  for (const ObjectId serial : serials) out.push_back(serial - 1);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Bytes rounded(Bytes bytes) {
  constexpr Bytes kMask = Iteration::kAlignment - 1;
  return bytes > ~kMask ? ~kMask : (bytes + kMask) & ~kMask;
}

Status check_machine(const Machine& machine) {
  if (machine.tiers.size() < 2) {
    return invalid("machine " + machine.name +
                   " has one tier, so there is nothing to decide; give one "
                   "with two or more (--machine)");
  }
  const Tier& fastest = machine.tiers.front();
  if (fastest.read_bytes_per_s > 0 && fastest.write_bytes_per_s > 0) return {};
  return invalid("bandwidth of tier " + fastest.name + " is not known");
}

}  // namespace

Result<Iteration> Iteration::make(const Trace& fast, const Trace* slow,
                                  const Machine& machine,
                                  std::optional<std::size_t> step) {
  if (auto ok = check_machine(machine); !ok) return ok.error();
  if (fast.operators.empty() || fast.tensors.empty()) {
    return invalid(
        "the trace has no " +
        std::string(fast.operators.empty() ? "operators" : "tensors") +
        "; record with the observer");
  }
  auto chosen = choose_step(fast, step);
  if (!chosen) return chosen.error();
  auto slice = cut_step(fast, chosen->step);
  if (!slice) return slice.error();
  const bool timeless = slice->trace.info.clock == "nodes";
  if (timeless) {
    assume_memory_bound(slice->trace, machine.tiers.front());
    chosen->notes.emplace_back(
        "the trace knows no times: each operator is taken to be bound by "
        "memory");
  }
  auto times = [&]() -> Result<OperatorModel> {
    if (slow == nullptr) {
      return OperatorModel::from_trace(slice->trace, machine);
    }
    auto other = cut_step(*slow, chosen->step);
    if (!other) return other.error();
    return OperatorModel::from_pair(slice->trace, other->trace, machine);
  }();
  if (!times) return times.error();

  Iteration out(*std::move(times), machine);
  out.describe(*slice);
  out.count();
  out.job_ = command_of(fast);
  out.notes_ = std::move(chosen->notes);
  return out;
}

void Iteration::describe(const StepSlice& slice) {
  const Trace& trace = slice.trace;
  for (std::size_t t = 0; t < trace.tensors.size(); ++t) {
    const StepSlice::Life& life = slice.lives[t];
    tensors_.push_back({life.serial,
                        rounded(trace.tensors[t].bytes),
                        trace.tensors[t].label,
                        life.born,
                        life.dies,
                        life.wraps,
                        life.persistent,
                        {},
                        trace.tensors[t].address});
  }
  for (const thermocline::Operator& from : trace.operators) {
    operators_.push_back({from.name,
                          from.layer,
                          from.phase,
                          numbers(from.reads),
                          numbers(from.writes),
                          {},
                          {}});
  }
  for (std::size_t i = 0; i < operators_.size(); ++i) {
    const auto use = [&](std::uint32_t t, bool written) {
      auto& uses = tensors_[t].uses;
      if (uses.empty() || uses.back().op != i) {
        uses.push_back({static_cast<std::uint32_t>(i), false, false, {}});
        for (std::size_t k = 0; k < tiers(); ++k) {
          uses.back().penalty_ns.push_back(
              times_.penalty_ns(i, t, static_cast<TierId>(k)));
        }
      }
      (written ? uses.back().written : uses.back().read) = true;
    };
    for (const auto t : operators_[i].reads) use(t, false);
    for (const auto t : operators_[i].writes) use(t, true);
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    Tensor& one = tensors_[t];
    if (one.persistent) continue;
    operators_[one.born].born.push_back(static_cast<std::uint32_t>(t));
    if (one.dies < operators_.size()) {
      operators_[one.dies].dead.push_back(static_cast<std::uint32_t>(t));
    }
    if (!one.wraps) continue;
    const auto first =
        std::find_if(one.uses.begin(), one.uses.end(),
                     [&](const Use& use) { return use.op >= one.born; });
    std::rotate(one.uses.begin(), first, one.uses.end());
  }
}

void Iteration::count() {
  live_.assign(operators_.size(), 0);
  for (const Tensor& one : tensors_) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (one.alive(i)) live_[i] += one.bytes;
    }
  }
  peak_ = *std::max_element(live_.begin(), live_.end());
}

Result<Iteration> Iteration::from_trace(const Trace& trace,
                                        const Machine& machine,
                                        std::optional<std::size_t> step) {
  return make(trace, nullptr, machine, step);
}

Result<Iteration> Iteration::from_pair(const Trace& fast, const Trace& slow,
                                       const Machine& machine,
                                       std::optional<std::size_t> step) {
  return make(fast, &slow, machine, step);
}

double Iteration::all_fast_ns() const {
  return step_ns(std::vector<TierId>(tensors(), 0));
}

double Iteration::all_slow_ns() const {
  return step_ns(
      std::vector<TierId>(tensors(), static_cast<TierId>(tiers() - 1)));
}

}  // namespace thermocline
