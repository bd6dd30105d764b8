// What each part of a job's memory would gain in fast memory, the most first.
//
// Of a job of tensors: what a step loses by each tensor in the slowest tier
// (Iteration's penalties, all of its uses). Of a job of pages: what the run
// loses by each object there (estimate_breakdown.h). Gains do not add up
// exactly to the job's: what overlaps is counted once only.
//
// Thread safety: pure functions, plain values. Units: bytes, nanoseconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "daemon/estimate_input.h"
#include "policies/iteration.h"

namespace thermocline {

struct ReportObject {
  std::string name;  // as placement files and `explain` take it
  std::string label;
  Bytes bytes = 0;
  std::size_t count = 1;  // tensors that lived there one after another
  double gain_ns = 0;
};

struct ReportObjects {
  static constexpr std::size_t kMost = 200;

  std::vector<ReportObject> objects;  // kMost at most
  std::size_t in_all = 0;             // that gain anything
  double gain_ns = 0;                 // of all of them
};

ReportObjects gains_of(const Iteration& step);
ReportObjects gains_of(const EstimateInput& input);

nlohmann::ordered_json to_json(const ReportObjects& objects);

}  // namespace thermocline
