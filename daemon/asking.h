// What the commands that ask a running thermoclined have in common.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "daemon/client.h"
#include "traces/result.h"

namespace CLI {
class App;
}

namespace thermocline {

struct Asking {
  Asking();
  ServiceAddress access;  // the default socket and keys
  int timeout_ms = 5000;
};

/// Adds --socket, --keys and --timeout-ms. Requires: `asking` outlives
/// `command`.
void add_asking(CLI::App& command, Asking& asking);

/// The answer, refusals too. Errors: as ask(); kCorrupt for what is not JSON.
Result<nlohmann::json> ask_json(const Asking& asking, nlohmann::json request);

/// The answer; a refusal is an error with the service's message.
Result<nlohmann::json> asked(const Asking& asking, nlohmann::json request);

}  // namespace thermocline
