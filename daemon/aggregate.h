// --aggregate of `run` and `record`: asks the preloaded observer to place the
// job's tensors among their like.
//
// Thread safety: as the file system's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/observer_figures.h"
#include "traces/result.h"

namespace CLI {
class App;
}

namespace thermocline {

struct AggregateRequest {
  bool on = false;
  std::string options;  // of AggregationOptions, JSON
  std::string profile;  // the option of that name
};

/// The variable by which the observer is asked.
inline constexpr const char* kAggregateVariable = "THERMOCLINE_AGGREGATE";

void add_aggregate(CLI::App& command, AggregateRequest& request);

/// What the observer is told, checked: JSON of AggregationOptions; empty when
/// nothing is asked. Errors: kInvalid for options without --aggregate, or that
/// are none; a profile that is damaged, or cannot lie where it shall.
Result<std::string> aggregate_setting(const AggregateRequest& request);

/// One line of what became of it, for its user; empty if nothing is told.
std::string aggregate_line(const ObserverFigures::Figures& figures);

}  // namespace thermocline
