#include "daemon/evaluate_whatif.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace thermocline {
namespace {

using Json = nlohmann::ordered_json;

// The job as the replay cut it into objects, so that their numbers agree.
Result<EstimateInput> estimator_of(const WhatIfFiles& files) {
  EstimateFiles wanted;
  wanted.slow = files.slow;
  wanted.fast = files.fast;
  wanted.machine = files.machine;
  wanted.region_bytes = Differential::Options().region_bytes;
  auto input = EstimateInput::load(wanted);
  if (input) return input;
  wanted.phases = "none";  // as load_worlds() does
  return EstimateInput::load(wanted);
}

// Of a report's time, what replays take where there are error bars as well.
constexpr double kReplays = 0.6;

// The estimator judges a placement in the time of a whole estimate; of one that
// changes all the time, these are judged.
constexpr std::size_t kJudged = 5;

std::optional<double> bar(const Differential& made, const EvaluatedRow& row) {
  const Schedule& all = row.moves.schedule;
  if (!row.error.empty() || all.placement.size() != made.objects().size()) {
    return std::nullopt;
  }
  std::vector<TierId> now = all.placement;
  double placed = made.total_ns(now);
  double error = 0;
  std::size_t next = 0;
  const std::size_t windows = made.windows();
  const std::size_t judged = all.moves.empty() ? 1 : std::min(kJudged, windows);
  for (std::size_t w = 0, k = 0; w < windows; ++w) {
    for (; next < all.moves.size() && all.moves[next].window <= w; ++next) {
      now[all.moves[next].object] = all.moves[next].to;
    }
    if (next > 0) {
      placed += made.window_ns(w, now) - made.window_ns(w, all.placement);
    }
    // In the middle of the k-th of equal parts.
    if (k == judged || w < (2 * k + 1) * windows / (2 * judged)) continue;
    const auto here = made.error_ns(now);
    if (!here) return std::nullopt;
    error += *here / static_cast<double>(judged);
    ++k;
  }
  return error + std::abs(placed - (row.time_ns - row.moves.move_ns)) +
         row.moves.move_ns;
}

void add_pages(const WhatIfFiles& files,
               const std::function<bool(double, const std::string&)>& go_on,
               WhatIf& out) {
  go_on(kReplays, "the estimator");
  const auto input = estimator_of(files);
  if (!input) {
    out.bars = "none, for " + input.error().message;
    return;
  }
  for (const auto& note : input->notes) out.notes.push_back(note);
  out.objects = gains_of(*input);
  const Differential& made = input->differential;
  if (made.modelled()) {
    out.bars =
        "none, for one endpoint is modelled, and nothing is known of how wrong "
        "that is; give the all_slow and the all_fast trace of the job";
    return;
  }
  out.bars =
      "nine of ten true times lay within such a bar where it was calibrated "
      "(emulated programs); on real hardware it was never checked";
  const auto shares = static_cast<double>(out.table.shares.size());
  for (std::size_t s = 0; s < out.table.shares.size(); ++s) {
    for (const EvaluatedRow& row : out.table.shares[s].rows) {
      const double done = static_cast<double>(s) / shares;
      if (!go_on(kReplays + (1 - kReplays) * done, "error bars")) {
        out.complete = false;
        return;
      }
      out.error_ns[s].push_back(bar(made, row));
    }
  }
}

Json moves_json(const FollowedMoves& moves) {
  std::vector<std::int64_t> fast;
  std::vector<std::int64_t> to_fast;
  std::vector<std::int64_t> from_fast;
  for (const auto& part : moves.parts) {
    fast.push_back(std::llround(part.fast_bytes));
    to_fast.push_back(std::llround(part.to_fast_bytes));
    from_fast.push_back(std::llround(part.from_fast_bytes));
  }
  return {{"fast_bytes", fast},
          {"to_fast_bytes", to_fast},
          {"from_fast_bytes", from_fast}};
}

}  // namespace

WhatIf what_if(const WhatIfFiles& files, const Result<EvaluatedJobs>& jobs,
               const EvaluateOptions& options,
               const std::function<bool(double, const std::string&)>& go_on) {
  WhatIf out;
  if (!jobs) {
    out.missing = jobs.error().message;
    return out;
  }
  out.notes = jobs->notes;
  EvaluateOptions followed = options;
  followed.follow = true;
  const double part = jobs->jobs.front().step ? 1 : kReplays;
  const auto scaled = [&](double share, const std::string& now) {
    return go_on(share * part, now);
  };
  std::vector<EvaluatedTable> tables;
  out.complete = bool{evaluate(jobs->jobs, followed, scaled, tables)};
  if (tables.empty()) {
    out.missing = "stopped before anything was evaluated";
    return out;
  }
  out.table = std::move(tables.front());
  const bool pair = !files.slow.empty() && !files.fast.empty();
  out.slow_measured = pair || !files.slow.empty();
  out.fast_measured = pair || files.slow.empty();
  out.error_ns.resize(out.table.shares.size());
  if (const EvaluatedJob& job = jobs->jobs.front(); job.step) {
    out.objects = gains_of(*job.step);
    out.bars =
        "none, for of a replay tensor by tensor nothing is known of how wrong "
        "it is; --pages judges the job by its samples";
  } else {
    add_pages(files, go_on, out);
  }
  return out;
}

Json to_json(const WhatIf& what_if) {
  if (!what_if.missing.empty()) return {{"missing", what_if.missing}};
  Json out = to_json(std::vector{what_if.table})[0];
  const auto& shares = what_if.table.shares;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    for (std::size_t r = 0; r < shares[s].rows.size(); ++r) {
      Json& row = out["shares"][s]["policies"][r];
      if (!shares[s].rows[r].error.empty()) continue;
      const auto& errors = what_if.error_ns[s];
      row["error_ns"] = nullptr;
      if (r < errors.size() && errors[r]) row["error_ns"] = *errors[r];
      row["moves"] = moves_json(shares[s].rows[r].moves);
    }
  }
  out["complete"] = what_if.complete;
  out["slow_measured"] = what_if.slow_measured;
  out["fast_measured"] = what_if.fast_measured;
  out["error_bars"] = what_if.bars;
  return out;
}

}  // namespace thermocline
