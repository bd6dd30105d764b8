// The programs beside this one that link LibTorch, which this one does not.
#pragma once

#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

/// This process becomes the program of that name, with these arguments.
/// Returns only when it cannot be run. Errors: kNotFound.
Error become(const std::string& name, std::vector<std::string> arguments);

/// Runs thermocline-train; what it prints. Errors: what it says when it fails,
/// kNotFound when it cannot be run.
Result<std::string> ask_trainer(std::vector<std::string> arguments);

}  // namespace thermocline
