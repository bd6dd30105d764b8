// Inside TrainingState: what a tensor and an optimizer are as pieces of a
// checkpoint. Includes no torch. Thread safety: none.
#pragma once

#include <string>

#include "training/checkpoint.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace thermocline {

/// kInvalid: the piece "NAME" tells that the checkpoint is of another job.
Error another_job(const std::string& name, const std::string& why);

/// Errors: kUnsupported, naming it, when a tensor is no plain array of a type
/// that has a name: sparse, quantized, nested, or without memory.
Status check_savable(const std::string& name, const at::Tensor& tensor);

/// That the optimizer saved is of this kind, over as many parameters in each
/// group (older checkpoints do not say), and that each of its parts is one of
/// ours, of our parameter's shape. Errors: kInvalid; kUnsupported.
Status check_optimizer(const Restored& from, const std::string& name,
                       torch::optim::Optimizer& optimizer);
/// Puts it back. Requires: check_optimizer() said yes. Errors: kCorrupt when
/// the options are of another kind.
Status restore_optimizer(const Restored& from, const std::string& name,
                         torch::optim::Optimizer& optimizer);

}  // namespace thermocline
