// WhatIf: what a recorded job would take with other sizes of fast memory,
// under each policy, with error bars where anything is known of the error.
//
// Times are those of `thermocline evaluate`. A bar is the mean of the
// estimator's own (Differential::error_ns) for the placements that the policy
// came to, plus how far the estimator's time for them is from the replay's
// (which knows each object's own gain alone, not what overlaps), plus all that
// moving took, which is modelled. It needs both endpoints measured and samples;
// elsewhere there is none, and `bars` says why.
//
// Thread safety: plain values.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/evaluate_table.h"
#include "daemon/report_objects.h"

namespace thermocline {

// The traces of one job: one, or the all_slow and the all_fast one.
struct WhatIfFiles {
  std::vector<std::string> traces;
  std::string slow;  // of the two, which is all_slow; or empty
  std::string fast;
  std::string machine;  // file; empty: as the traces say
};

struct WhatIf {
  std::string missing;  // why there is none, and the remedy; else empty
  bool complete = true;
  bool slow_measured = false;
  bool fast_measured = false;
  std::string bars;  // what the error bars are, or why there are none
  EvaluatedTable table;
  // By share and row of the table.
  std::vector<std::vector<std::optional<double>>> error_ns;
  std::vector<std::string> notes;
  ReportObjects objects;
};

/// A job that cannot be evaluated has a reason in `missing`. `go_on`: as
/// evaluate()'s; false leaves what was done until then, and not complete.
WhatIf what_if(const WhatIfFiles& files, const Result<EvaluatedJobs>& jobs,
               const EvaluateOptions& options,
               const std::function<bool(double, const std::string&)>& go_on);

nlohmann::ordered_json to_json(const WhatIf& what_if);

}  // namespace thermocline
