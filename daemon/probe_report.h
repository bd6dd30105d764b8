// What `thermocline probe` found, for people and for programs.
//
// Thread safety: pure, but for writing to the file given.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>

#include "daemon/probe.h"

namespace thermocline {

/// A table, a line or two below each node, and notes.
void print_text(const ProbeReport& report, std::FILE* to);

/// {"machine": as in its file, "nodes": [how each was measured]}; with
/// operations, also what operations_json() gives.
nlohmann::ordered_json to_json(const ProbeReport& report);

}  // namespace thermocline
