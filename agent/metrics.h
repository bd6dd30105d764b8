// Metrics: how a training went, a row for each evaluation.
//
// As CSV for spreadsheets, JSON for programs, and a picture for people: a
// self-contained SVG of the learning curve.
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/result.h"

namespace thermocline {

struct Metrics {
  std::int64_t episode = 0;    // played so far, by all workers
  std::int64_t decisions = 0;  // the same
  double seconds = 0;          // of training, pauses between runs left out
  double loss = 0;             // mean over the steps since the last row
  double mean_return = 0;      // of about the last 16 episodes; -1: all_slow
  // Shares of the first_touch -> all_fast gap, over all trials (trials.h).
  double gap_closed = 0;  // whole jobs
  double held_out = 0;    // windows that were not trained on
  bool operator==(const Metrics&) const = default;
};

std::string metrics_csv(const std::vector<Metrics>& rows);
std::string metrics_json(const std::vector<Metrics>& rows);
/// The rows of metrics_json(). Errors: kCorrupt.
Result<std::vector<Metrics>> parse_metrics(const std::string& json);
/// Both shares of the gap over the episodes, on one page.
std::string learning_curve_svg(const std::vector<Metrics>& rows);

/// Writes them by what the path ends on: .json, .svg, else CSV; atomically.
/// Errors: those of replace_file (traces/replace_file.h).
Status write_metrics(const std::string& path, const std::vector<Metrics>& rows);

}  // namespace thermocline
