// The configuration file, as JSON that is known to be good.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "traces/result.h"

namespace thermocline {

/// The object in the file. Errors: as reread_settings().
Result<nlohmann::json> read_config(const std::string& path);

/// The object in a file's text; `name` is what errors call it.
Result<nlohmann::json> parse_config(const std::string& text,
                                    const std::string& name);

/// The Settings' own keys and ranges, and "pids", "targets", "without" and
/// "options".
Status check_settings(const nlohmann::json& said);

}  // namespace thermocline
