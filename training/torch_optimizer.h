// What an optimizer remembers, part by part: SGD, Adam, AdamW, RMSprop,
// Adagrad. (LBFGS keeps lists of past steps; it is not supported.)
//
// LibTorch's own serialisation copies it all into an archive; here its tensors
// are reached where they are. Includes no torch.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "traces/result.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace thermocline {

// Called for each part of one parameter's state. The name is LibTorch's:
// "exp_avg", "step".
struct OptimizerVisitor {
  std::function<void(const std::string& name, at::Tensor&)> tensor;
  std::function<void(const std::string& name, std::int64_t&)> number;
};

/// Visits the state of each parameter under "GROUP.INDEX.PART". One that has
/// none yet gets an empty one first (undefined tensors, 0) where
/// create("GROUP.INDEX.") says so: LibTorch takes a state that is there for one
/// that is filled. Errors: kUnsupported, naming the kind of optimizer.
Status visit_state(torch::optim::Optimizer& optimizer,
                   const std::function<bool(const std::string&)>& create,
                   const OptimizerVisitor& visitor);
/// For `create`: none.
inline bool create_none(const std::string&) { return false; }

/// Forgets all state, as a new optimizer has none.
void clear_state(torch::optim::Optimizer& optimizer);

/// The options of each group (learning rate, ...), as bytes. Errors:
/// kUnsupported.
Result<std::string> optimizer_options(torch::optim::Optimizer& optimizer);
/// Errors: kCorrupt when they are not of such an optimizer.
Status set_optimizer_options(torch::optim::Optimizer& optimizer,
                             const std::string& bytes);

}  // namespace thermocline
