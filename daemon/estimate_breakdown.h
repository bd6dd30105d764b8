// Breakdown: an estimate by phases of the job and by objects.
//
// An object's cost is what the job takes longer because the object does not
// lie in the fastest tier. So
//
//   time = all in the fastest tier + costs of all objects - overlap
//
// where overlap is what a mixed placement saves by using several links at
// once; and where objects move while the job runs, plus what that takes. Thread
// safety: pure functions, plain values. Units: nanoseconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/job_objects.h"
#include "estimator/migration.h"

namespace thermocline {

// Windows under one name: the phases of that name; of a job that is one phase,
// a tenth of the work.
struct JobPhase {
  std::string name;
  std::vector<std::size_t> windows;
};

std::vector<JobPhase> phases_of(const Differential& made);

struct Breakdown {
  struct Phase {
    double slow_ns = 0;
    double ns = 0;
    double fast_ns = 0;
  };
  struct Object {
    std::uint32_t object = 0;
    double cost_ns = 0;  // where it lies
    double slow_ns = 0;  // what it would cost in the slowest tier
    // How much of it lies in each tier, by what it costs there; sums to 1.
    std::vector<double> in_tier;
  };
  double ns = 0;
  // As Differential::error_ns(), or ScheduledRun's.
  std::optional<double> error_ns;
  // Of objects that move while the job runs (migration.h).
  double waited_ns = 0;
  double interference_ns = 0;
  Bytes moved_bytes = 0;
  double overlap_ns = 0;
  // How far the estimate is from what was measured: of each window, the
  // distance to the nearest measured time of a tier.
  double modelled_ns = 0;
  std::vector<Phase> phases;    // as phases_of()
  std::vector<Object> objects;  // that cost anything in the slowest tier, the
                                // costliest there first
};

/// `measured_slow`, `measured_fast`: which endpoints were. Requires: a schedule
/// that run_schedule() takes.
Breakdown break_down(const Differential& made, const Schedule& schedule,
                     const std::vector<JobPhase>& phases,
                     const JobObjects& objects, bool measured_slow,
                     bool measured_fast);

/// Without phases and objects.
Breakdown totals(const Differential& made, const Schedule& schedule,
                 bool measured_slow, bool measured_fast);

}  // namespace thermocline
