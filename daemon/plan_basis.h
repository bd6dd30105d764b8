// PlanBasis: what a plan is made from: the recorded step of the same job.
//
// Thread safety: const after loading.
#pragma once

#include <memory>
#include <string>

#include "policies/iteration.h"

namespace thermocline {

struct PlanBasis {
  std::string path;
  Iteration iteration;
  bool marked = false;  // the job marks its steps
  // Of the job's own memory, what is no tensor and was sampled (or all of that
  // where there are no samples): it needs room and is not planned for.
  Bytes beside = 0;
};

/// Reads a trace, for the machine on which the job is to run. Errors, naming
/// the path: those of read_trace() and Iteration::from_trace(); kInvalid for a
/// trace without tensors or operators, or in which nothing repeats.
Result<std::shared_ptr<const PlanBasis>> load_plan_basis(
    const std::string& path, const Machine& machine);

}  // namespace thermocline
