// Migration: the time of a job whose objects are moved while it runs.
//
// A schedule's copies are made one after another, in order, by an engine beside
// the job (a daemon that calls move_pages), each from the start of its window
// on. What is modelled, from the Machine's bandwidths alone:
//   copying       a copy reads one link and writes another, and the kernel
//   works
//                 on each page (access_cost.h). It gets what the job leaves of
//                 the links, but at least half, and no more than the budget.
//   interference  what a copy holds of a link delays the job as often as the
//                 job has that link in use: time held times the link's load.
//                 The load is that of the sampled accesses; lines that a
//                 prefetcher fetches unseen are not in it, so it is a lower
//                 bound.
//   waiting       copies that the job does not outlive are waited for at its
//                 end: a plan that moves in vain must not look free.
// An object counts as being in its old tier until the window after the one in
// which its copy ends. What a job loses that touches a page while it is moved
// is left out.
//
// Thread safety: pure. Units: nanoseconds, bytes.
#pragma once

#include <optional>
#include <vector>

#include "estimator/differential.h"

namespace thermocline {

struct ScheduledMove {
  std::size_t window = 0;  // it may begin with this window; the number of
                           // windows: at the job's end
  ObjectId object = 0;
  TierId to = 0;
  bool operator==(const ScheduledMove&) const = default;
};

struct Schedule {
  std::vector<TierId> placement;     // at the start, by object
  std::vector<ScheduledMove> moves;  // windows never decrease
  double bytes_per_s = 0;            // that copies may use; 0: no bound
};

struct ScheduledRun {
  double run_ns = 0;           // all included
  double waited_ns = 0;        // of it, for copies; modelled
  double interference_ns = 0;  // of it, with the job's own traffic; modelled
  Bytes moved = 0;
  // When each object was in its new place: `window` is the first that sees it
  // there. Moves to where an object is already are not in it, nor are those
  // that end after the job.
  std::vector<ScheduledMove> arrivals;
  // Differential::error_ns() of the placements by how many windows they last,
  // plus all that is modelled here.
  std::optional<double> error_ns;

  /// Of it, under the placements.
  double placed_ns() const { return run_ns - waited_ns - interference_ns; }
};

/// Without moves exactly total_ns() and error_ns() of the placement. Errors:
/// kInvalid for a placement of other objects or tiers, moves out of order or
/// past the end, of unknown objects or to unknown tiers, a negative budget.
/// Cost: that of total_ns(), plus the accesses of the windows from the first
/// move on, twice.
Result<ScheduledRun> run_schedule(const Differential& job,
                                  const Schedule& schedule);

}  // namespace thermocline
