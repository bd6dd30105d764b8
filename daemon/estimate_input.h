// EstimateInput: the endpoint traces of `thermocline estimate`, checked.
//
// What cannot be estimated is refused with the remedy; what can be, with a
// doubt, leaves a note. Thread safety: plain value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "estimator/differential.h"
#include "traces/result.h"
#include "traces/trace.h"
#include "traces/watch.h"

namespace thermocline {

struct EstimateFiles {
  std::string slow;  // trace files; at least one
  std::string fast;
  // "cxl=FILE": of tiers between; only beside both others.
  std::vector<std::string> tiers;
  std::string machine;  // empty: as the traces say
  std::int64_t windows = 100;
  std::string phases = "auto";  // or "none": the job is one phase
  // Pages, or larger where the job maps more than 4 GiB, when 0.
  Bytes region_bytes = 0;
};

struct EstimateInput {
  Differential differential;
  // At least one. As recorded, but of a pair the fast one's addresses are the
  // slow one's where they were randomised.
  std::optional<Trace> slow;
  std::optional<Trace> fast;
  // Of tiers between, by tier, and the files that they are from. Addresses are
  // the slow trace's.
  std::map<TierId, Trace> others;
  std::map<TierId, std::string> other_files;
  Differential::Options options;   // of `differential`
  std::vector<std::string> notes;  // doubts, one line each

  const Trace& either() const { return slow ? *slow : *fast; }
  /// The same estimator, with all counts at their word: for placements that
  /// others chose (chosen_elsewhere.h). Requires: slow and fast.
  Result<Differential> at_their_word() const;

  /// Reads and checks the traces; of one alone the other endpoint is modelled.
  /// Errors: as read_trace, Machine::load, Differential; a trace that is cut,
  /// was recorded under another placement than its option says, or tracks pages
  /// without a clock; and of one trace, a machine without the numbers that
  /// the modelled endpoint needs.
  static Result<EstimateInput> load(const EstimateFiles& files,
                                    const FileWatch& watch = {});
};

}  // namespace thermocline
