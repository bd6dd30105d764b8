// What `thermocline tune` tries: for each policy a grid of options.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

namespace thermocline {

/// All combinations of the policy's grid, each as JSON text of its options, the
/// defaults ("{}") first; those alone for a policy that has no grid.
std::vector<std::string> tuning_grid(const std::string& policy);

}  // namespace thermocline
