// Origins: how each figure of a report was obtained, in plain words.
//
// Thread safety: pure function, plain values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "estimator/machine.h"
#include "traces/trace_file.h"

namespace thermocline {

struct ReportedRun {
  std::string file;
  ReadTrace read;
};

// What is known of a what-if, if there is one.
struct ReportedWhatIf {
  bool present = false;
  bool tensors = false;
  bool slow_measured = false;
  bool fast_measured = false;
  std::string bars;
};

/// A list of {"what", "how", "text"}; "how" is one of measured, emulated,
/// sampled, counted, declared, modelled. Requires: at least one run.
nlohmann::ordered_json origins_json(const std::vector<ReportedRun>& runs,
                                    const Machine* machine,
                                    const ReportedWhatIf& what_if);

}  // namespace thermocline
