// measure_passes: the rate of something that threads do to memory in order.
//
// Each thread goes through its part again and again, on from where it was, so
// that what a repeat touches has left the caches since. How much a repeat goes
// through follows from how fast it is: the whole part where the time allows,
// else as much as does.
// Thread safety: call from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/probe_pace.h"
#include "traces/types.h"

namespace thermocline {

// Repeated measurements, in one number. The median, for what disturbs a
// measurement disturbs some repeats; half of what lies between the least and
// the most, over the median, as their spread (0 for a single one, of which
// nobody knows).
struct Measured {
  double median = 0;
  double spread = 0;
  int repeats = 0;
};

/// Requires: at least one value, all of them above 0.
Measured summary(std::vector<double> values);

// A pass is over a whole number of these.
inline constexpr Bytes kPassGrain = Bytes{64} << 10;

struct PassOptions {
  std::span<const int> cpus;  // one thread on each
  Bytes part = 0;             // of each thread, in whole grains
  double wanted_s = 0;        // of a repeat
  int repeats = 1;
};

// What is to be done to `size` bytes at `at` of a thread's part. Returns: the
// bytes that were wanted. `turn` differs from pass to pass.
struct Pass {
  std::size_t thread = 0;
  Bytes at = 0;
  Bytes size = 0;
  std::uint64_t turn = 0;
};
using PassWork = std::function<Bytes(const Pass&)>;

struct Passed {
  Measured bytes_per_s;
  double ran = 1;  // as Together's; the median
};

/// `at`: where in the parts it goes on; moved. Errors: kInterrupted; those of
/// run_together().
Result<Passed> measure_passes(const PassOptions& options, Bytes& at,
                              const ProbePace& pace, const PassWork& work);

}  // namespace thermocline
