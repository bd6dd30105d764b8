// What operations cost in each place, and what follows, for people and for
// programs; a part of probe_report.h's.
//
// Thread safety: pure, but for writing to the file given.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>

#include "daemon/probe_guidelines.h"

namespace thermocline {

/// For each place a table with a bar for each operation, then the guidelines.
void print_operations(const std::vector<PlaceFigures>& places, std::FILE* to);

/// {"places": [...], "guidelines": [...]}.
nlohmann::ordered_json operations_json(const std::vector<PlaceFigures>& places);

}  // namespace thermocline
