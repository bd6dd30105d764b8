// Guards by the names under which they refuse moves, each with its switch.
//
// For whoever must know what a guard costs, or is worth, on a job of their
// own. Those that keep moves sound (invalid, stale, unmovable, capacity) have
// no switch. Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "daemon/service.h"

namespace thermocline {

struct GuardSwitch {
  const char* name;
  const char* about;
  bool live;  // false: only a restart switches it
  void (*off)(Service::Options& options);
};
const std::vector<GuardSwitch>& guard_switches();

/// The one of that name. Errors: kInvalid for a guard that has no switch,
/// listing those that do.
Result<const GuardSwitch*> guard_switch(const std::string& name);

/// Whether a guard is on where these are off.
bool is_on(const std::string& guard, const std::vector<std::string>& without);

/// Has the service switch all guards so that these are off and no others.
/// Returns: why some are not, a line each (only a restart switches them).
std::vector<std::string> switch_guards(Service& service,
                                       const std::vector<std::string>& without);

/// The options with all guards of `without` off. Requires: each is known.
Service::Options switched(Service::Options options);

}  // namespace thermocline
