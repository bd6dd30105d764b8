// thermocline-train: the program beside this one that links LibTorch.
#pragma once

#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

/// This process becomes it, with these arguments. Returns only when it cannot
/// be run. Errors: kNotFound.
Error become_trainer(std::vector<std::string> arguments);

/// Runs it; what it prints. Errors: what it says when it fails, kNotFound when
/// it cannot be run.
Result<std::string> ask_trainer(std::vector<std::string> arguments);

}  // namespace thermocline
