// apply_changes: new settings for a service that runs.
#pragma once

#include <string>
#include <vector>

#include "daemon/server.h"
#include "daemon/service.h"
#include "daemon/settings.h"

namespace thermocline {

/// Takes over what can be changed while it runs: policy, options, agent,
/// budget, the list of clients and the log level. Returns one line on each
/// change, and on each that takes a restart. Errors: a bad policy or list of
/// clients; then nothing has changed.
Result<std::vector<std::string>> apply_changes(const Settings& before,
                                               const Settings& after,
                                               Service& service,
                                               Server& server);

}  // namespace thermocline
