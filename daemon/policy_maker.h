// make_policy: a policy by name, from this program or from a plugin.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "policies/policy.h"
#include "traces/result.h"

namespace thermocline {

// One policy instance for one target, from its name and options (JSON text).
using PolicyMaker = std::function<Result<std::unique_ptr<Policy>>(
    const std::string& name, const std::string& options)>;

/// From the registry. A name that is not there is looked for in
/// lib/thermocline_learned.so beside the program, which is loaded once (it
/// links LibTorch, which the daemon itself does not). "learned" without an
/// agent among its options gets the one that ships. Errors: kNotFound,
/// kInvalid options, kUnsupported when the plugin cannot be loaded.
Result<std::unique_ptr<Policy>> make_policy(const std::string& name,
                                            const std::string& options);

}  // namespace thermocline
