// The form of answers on our sockets: {"v":1,"ok":true,...} or
// {"v":1,"ok":false,"error":{"code":...,"message":...}} (API.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "traces/result.h"

namespace thermocline {

/// What a service answers that does not do it.
nlohmann::json refusal(const Error& error);

/// An answer as it came from `socket`, refusals too; an object. Errors:
/// kCorrupt for what is not JSON.
Result<nlohmann::json> parse_answer(const std::string& text,
                                    const std::string& socket);

/// `answer` itself; a refusal is an error with the service's message. Any
/// object may be given, whatever its fields hold.
Result<nlohmann::json> accepted(nlohmann::json answer);

}  // namespace thermocline
