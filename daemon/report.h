// What the daemon did, as JSON: the final report, and one window's event.
//
// The keys are part of the versioned API; API.md describes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/service.h"
#include "daemon/usage.h"

namespace thermocline {

nlohmann::json to_json(const MoveTotals& moves, const Machine& machine);
nlohmann::json to_json(const SampleTotals& samples);
nlohmann::json to_json(const PlanReport& plan);
nlohmann::json to_json(const TargetReport& target, const Machine& machine);

nlohmann::json to_json(const ObserverFigures& figures);

/// The event that is published at the end of a window.
std::string window_event(const WindowReport& report, const Service& service);

/// One line on what a window decided.
std::string window_line(const WindowReport& report);

/// The event of a request to change something: one line on who, what, and what
/// came of it.
std::string control_event(const std::string& line);

/// Everything since the start.
std::string final_report(const Service& service, const Usage& usage);

/// JSON text whatever bytes are in it: names come from the targets.
std::string json_text(const nlohmann::json& json, int indent = -1);

}  // namespace thermocline
