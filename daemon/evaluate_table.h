// The table of `thermocline evaluate`: every policy on every job, for several
// sizes of fast memory.
//
// Times are of one step (jobs of tensors, once it has settled) or of the whole
// run (jobs of pages); moved bytes likewise.
//
// Thread safety: plain values.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "daemon/evaluate_jobs.h"
#include "daemon/evaluate_moves.h"
#include "policies/policy.h"

namespace thermocline {

// A policy as it takes part.
struct Contestant {
  std::string policy;
  std::string options;  // JSON text; empty: the defaults
  std::string variant;  // "tuned", or empty

  /// "histogram (tuned)"
  std::string name() const {
    return variant.empty() ? policy : policy + " (" + variant + ")";
  }
};

struct EvaluatedRow {
  Contestant who;
  double time_ns = 0;
  // 0: first_touch, 1: all_fast; none where these two are the same.
  std::optional<double> gap_closed;
  double moved_bytes = 0;
  double decision_median_s = 0;
  double decision_max_s = 0;
  std::size_t decisions = 0;
  bool planned = false;      // decided ahead, once
  std::size_t unplaced = 0;  // tensors that found no hole where they should be
  std::string note;
  std::string error;    // why there are no figures; empty: there are
  FollowedMoves moves;  // where EvaluateOptions::follow asks for them
};

struct EvaluatedShare {
  double share = 0;  // of the job's peak, in the fastest tier
  Bytes fast = 0;
  double bound_ns = 0;                    // any moves, free
  std::optional<double> static_bound_ns;  // placements that stay
  std::optional<double> paid_bound_ns;    // moves paid, future known; of pages
  std::optional<double> clairvoyant_ns;   // one that packing reaches so
  std::string note;  // what is missing, or not as a user would think
  std::vector<EvaluatedRow> rows;
};

struct EvaluatedTable {
  std::string job;
  bool tensors = false;
  std::size_t tiers = 0;
  std::size_t objects = 0;
  std::size_t parts = 0;  // operators of the step, or windows of the run
  Bytes peak = 0;
  double all_fast_ns = 0;
  double all_slow_ns = 0;
  std::vector<EvaluatedShare> shares;
};

struct EvaluateOptions {
  std::vector<Contestant> policies;
  std::vector<double> shares;
  std::size_t steps = 8;
  Bytes alignment = 64;
  double copy_bytes_per_s = 0;  // 0: as fast as the tiers are
  bool follow = false;          // keep what each policy moved, and when
};

/// One row but for the share of the gap. `go_on`: false stops; the row is then
/// of no use.
EvaluatedRow evaluate_one(const EvaluatedJob& job, const Contestant& who,
                          double share, const EvaluateOptions& options,
                          const std::function<bool()>& go_on);

/// Fills `out` as it goes, so that what is there can be shown when it is
/// stopped. `go_on` is asked often, with the share done (0 to 1) and what is
/// done now; false stops. Policies have been made once before, so that their
/// options are known to be good. Errors: kInterrupted when stopped.
Status evaluate(const std::vector<EvaluatedJob>& jobs,
                const EvaluateOptions& options,
                const std::function<bool(double, const std::string&)>& go_on,
                std::vector<EvaluatedTable>& out);

void print_text(const std::vector<EvaluatedTable>& tables);
nlohmann::ordered_json to_json(const std::vector<EvaluatedTable>& tables);

}  // namespace thermocline
