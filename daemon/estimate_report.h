// EstimateReport: what `thermocline estimate` prints, as text or JSON.
//
// Thread safety: plain values, pure functions.
#pragma once

#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/estimate_breakdown.h"
#include "daemon/estimate_input.h"
#include "daemon/job_objects.h"
#include "daemon/static_placement.h"

namespace thermocline {

struct EstimateRow {
  StaticPlacement placement;
  Breakdown breakdown;
  bool at_their_word = false;  // counts are, for others chose the placement
  std::string doubt;  // why this placement may not be possible, or empty
};

struct EstimateReport {
  const EstimateInput& input;
  const EstimateFiles& files;
  const JobMemory& memory;
  const JobObjects& objects;
  std::vector<JobPhase> phases;
  std::string title;              // what was asked: "policy hottest_first"
  std::vector<EstimateRow> rows;  // at least one
  bool detailed = false;          // one placement: with phases and objects
  std::size_t limit = 10;         // objects to show; 0: all
};

void print_text(const EstimateReport& report, std::FILE* to);
nlohmann::ordered_json to_json(const EstimateReport& report);

}  // namespace thermocline
