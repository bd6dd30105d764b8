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
/// change, and on each that takes a restart. Errors: those of check_values(),
/// which include the list of clients, and a bad policy; then nothing has
/// changed, and policies know what they knew.
Result<std::vector<std::string>> apply_changes(const Settings& before,
                                               const Settings& after,
                                               Bytes page_bytes,
                                               Service& service,
                                               Server& server);

}  // namespace thermocline
