// query_fleet: one question to many services, and their answers side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/commands.h"

namespace thermocline {

struct FleetQuery {
  std::string hosts;  // file (fleet.h); "-": standard input
  std::string keys;   // directory of our own pair
  int timeout_ms = 5000;
  bool as_json = false;
};

/// Prints a line for each host (status, tiers, version, ...: what a line has
/// room for) or a paragraph, and who did not answer. Status: 0 when all did, 3
/// when some did not or refused, 1 when none did or the file is wrong.
void query_fleet(const FleetQuery& given, nlohmann::json request,
                 Outcome& outcome);

}  // namespace thermocline
