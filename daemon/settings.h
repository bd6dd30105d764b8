// Settings: what the command line of thermoclined says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/service.h"

namespace thermocline {

struct Settings {
  std::vector<int> pids;
  std::string socket;    // API; PATH.events for events
  std::string observer;  // tensor observers connect here; empty: none
  std::string source = "none";
  std::string machine;  // file; empty: what the kernel says
  std::string agent;    // file; policy learned with it
  std::string plan;     // trace of the same job, for the policy to plan from
  std::string report;   // file for the final report
  bool json = false;    // final report on standard output
  bool exit_with_target = false;
  bool check_config = false;
  int ready_fd = -1;
  std::int64_t interval_ms = 1000;
  Service::Options service;
};

/// What is to be done after parsing: run with the settings, or leave with a
/// status since everything has been said (--help, --version, bad usage: 2).
struct ParsedSettings {
  Settings settings;
  std::optional<int> leave;
};
ParsedSettings parse_settings(int argc, const char* const* argv);

}  // namespace thermocline
