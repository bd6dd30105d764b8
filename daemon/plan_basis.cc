#include "daemon/plan_basis.h"

#include <algorithm>

#include "policies/step_slice.h"
#include "traces/iterations.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

constexpr const char* kRemedy =
    "; record the job with thermocline record -o FILE -- COMMAND";

// Bytes of all tensors at the time at which there are most.
Bytes most_alive(const Trace& trace) {
  std::vector<std::pair<Nanos, std::int64_t>> changes;
  for (const Tensor& tensor : trace.tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.bytes);
    changes.emplace_back(tensor.born, bytes);
    if (tensor.died >= 0) changes.emplace_back(tensor.died, -bytes);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  std::int64_t most = 0;
  for (const auto& [time, bytes] : changes) most = std::max(most, now += bytes);
  return static_cast<Bytes>(most);
}

Result<std::shared_ptr<const PlanBasis>> basis_of(const std::string& path,
                                                  const Trace& trace,
                                                  const Machine& machine) {
  if (trace.operators.empty() || trace.tensors.empty()) {
    return invalid(
        "has no " +
        std::string(trace.operators.empty() ? "operators" : "tensors") +
        ", so nothing can be planned" + kRemedy);
  }
  const auto chosen = choose_step(trace, {});
  if (!chosen) return chosen.error();
  if (!chosen->step) {
    return invalid(
        "shows no steps that repeat, so nothing can be planned; record more "
        "steps of the job");
  }
  auto iteration = Iteration::from_trace(trace, machine);
  if (!iteration) return iteration.error();
  const Bytes tensors = most_alive(trace);
  const Bytes own = trace.end.private_bytes;
  return std::make_shared<const PlanBasis>(PlanBasis{
      path, *std::move(iteration), find_iterations(trace).by == "marks",
      own > tensors ? own - tensors : 0});
}

}  // namespace

Result<std::shared_ptr<const PlanBasis>> load_plan_basis(
    const std::string& path, const Machine& machine) {
  const auto read = read_trace(path);
  if (!read) return read.error();
  auto out = basis_of(path, read->trace, machine);
  if (!out) return out.error().within(path);
  return out;
}

}  // namespace thermocline
