// switch_off: turns one guard off by the name under which it refuses moves.
//
// For whoever must know what a guard costs, or is worth, on a job of their
// own. Those that keep moves sound (invalid, stale, unmovable, capacity) have
// no switch. Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/service.h"

namespace thermocline {

/// The names that switch_off() knows.
std::vector<std::string> guard_switches();

/// Errors: kInvalid for another name, listing those there are.
Status switch_off(Service::Options& options, const std::string& guard);

}  // namespace thermocline
