// What an optimizer remembers, part by part: SGD, Adam, AdamW, RMSprop,
// Adagrad. (LBFGS keeps lists of past steps; it is not supported.)
//
// LibTorch's own serialisation copies it all into an archive; here its tensors
// are reached where they are. Includes no torch.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

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

/// The shape of each part "GROUP.INDEX.PART" that it may keep: its parameter's,
/// and none of a number. Errors: kUnsupported.
Result<std::map<std::string, std::vector<std::int64_t>>> optimizer_shapes(
    torch::optim::Optimizer& optimizer);
/// Its kind, and how many parameters each group has: "Adam over 3 + 1
/// parameters". Errors: kUnsupported.
Result<std::string> optimizer_layout(torch::optim::Optimizer& optimizer);

/// Forgets all state, as a new optimizer has none.
void clear_state(torch::optim::Optimizer& optimizer);

/// The options of each group (learning rate, ...), as bytes. Errors:
/// kUnsupported.
Result<std::string> optimizer_options(torch::optim::Optimizer& optimizer);
/// Errors: kCorrupt when they are not of such an optimizer.
Status set_optimizer_options(torch::optim::Optimizer& optimizer,
                             const std::string& bytes);

}  // namespace thermocline
