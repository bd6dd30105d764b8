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

// The pages outside all tensors that were sampled in the steps but the last,
// whose end nobody knows: when a Python program exits, it touches all it has.
Bytes sampled_beside(const Trace& trace, const std::vector<Nanos>& steps) {
  std::vector<std::pair<Address, Address>> tensors;
  for (const Tensor& one : trace.tensors) {
    tensors.emplace_back(one.address, one.address + one.bytes);
  }
  std::sort(tensors.begin(), tensors.end());
  std::size_t last = 0;  // of those joined where they meet
  for (const auto& one : tensors) {
    if (one.first > tensors[last].second) tensors[++last] = one;
    tensors[last].second = std::max(tensors[last].second, one.second);
  }
  tensors.resize(last + 1);
  std::vector<Address> pages;
  for (const Sample& sample : trace.samples) {
    const auto after = std::upper_bound(
        tensors.begin(), tensors.end(), sample.address,
        [](Address at, const auto& one) { return at < one.first; });
    const bool inside =
        after != tensors.begin() && sample.address < (after - 1)->second;
    if (inside || sample.time < steps.front() || sample.time >= steps.back()) {
      continue;
    }
    pages.push_back(sample.address / trace.info.page_bytes);
  }
  std::sort(pages.begin(), pages.end());
  const auto end = std::unique(pages.begin(), pages.end());
  return static_cast<Bytes>(end - pages.begin()) * trace.info.page_bytes;
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
  const auto steps = find_iterations(trace);
  const Bytes tensors = most_alive(trace);
  const Bytes own = trace.end.private_bytes;
  Bytes beside = own > tensors ? own - tensors : 0;
  if (!trace.samples.empty() && steps.starts.size() > 1) {
    beside = std::min(beside, sampled_beside(trace, steps.starts));
  }
  return std::make_shared<const PlanBasis>(
      PlanBasis{path, *std::move(iteration), steps.by == "marks", beside});
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
