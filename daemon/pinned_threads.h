// run_together: the same work on several CPUs at once, and how long it took.
//
// Thread safety: any thread may call it.
#pragma once

#include <functional>
#include <span>

#include "traces/result.h"

namespace thermocline {

struct Together {
  double seconds = 0;  // from the first beginning to the last end
  // Share of the threads' time, each from its beginning to its end, in which
  // they ran: less than 1 when other work had their CPUs.
  double ran = 1;
};

/// Runs work(i) on a thread that stays on cpus[i], for every i; all begin when
/// the last is ready. Errors: kIo when a thread cannot be had or cannot be kept
/// there.
Result<Together> run_together(std::span<const int> cpus,
                              const std::function<void(std::size_t)>& work);

/// CPU time of the calling thread: the clock for what others must not disturb.
/// Waiting for memory counts, waiting for a CPU does not.
double thread_cpu_seconds();

}  // namespace thermocline
