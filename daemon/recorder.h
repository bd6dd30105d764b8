// Recorder: runs a job and writes what is seen of it into a trace.
//
// Hears the sampler, the preloaded tensor observer and /proc/PID/maps, puts
// every time on the sampler's clock, and appends to the trace as it comes, so
// that a recorder killed at any instant leaves a readable prefix. Counts what
// it lost. Its own memory is slow, and fast where the job's is bound to slow
// memory: it takes none of the link that the job uses. Memory: bounded
// (recording.h). Thread safety: none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/aggregate.h"
#include "estimator/machine.h"
#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

// The most that a recording keeps in memory. What is left out is counted in
// the trace's losses, under the name given here.
struct RecordingLimits {
  // Samples whose process's mappings were not looked at yet; at so many they
  // are, at once. Nothing is left out.
  std::size_t samples = 1 << 18;
  // Tensors alive; later ones are left out ("recorder.tensors").
  std::size_t tensors = 1 << 20;
  // Areas of address space at one time; further ones are left out
  // ("recorder.mappings"). Linux allows a process 65,530 by default.
  std::size_t areas = 1 << 17;
  // Areas so far, where a stream's samples are told apart by them; the samples
  // of later ones are another's, and they are counted likewise.
  std::size_t areas_ever = 1 << 20;
};

struct RecordOptions {
  std::vector<std::string> command;
  std::string output;
  bool replace = false;
  std::string source = "perf";
  std::string placement = "first_touch";  // a policy with a birth tier, or it
  Machine machine;
  bool tensors = true;  // preload the observer
  AggregateRequest aggregate;
  bool fixed_addresses = true;
  RecordingLimits limits;
};

struct RecordReport {
  int exit_status = 0;
  Nanos run_ns = 0;   // on the trace's clock
  double wall_s = 0;  // on this host's
  std::string clock;
  std::uint64_t samples = 0;
  std::uint64_t sequences = 0;  // of accesses in a row
  std::uint64_t foreign = 0;    // samples of nobody we trace, left out
  std::uint64_t lost = 0;
  std::uint64_t tensors = 0;
  std::uint64_t operators = 0;
  Bytes peak_bytes = 0;          // resident set, at most
  Bytes peak_private_bytes = 0;  // of it anonymous: what placement is about
  Bytes file_bytes = 0;          // of the trace
  std::string lines_untold;  // why no memory controller's lines are recorded
  // By the kernel: to keep the recorder's own memory out of the job's tier.
  bool apart_refused = false;
  ObserverFigures::Figures figures;  // of the traced process
};

/// Runs the job to its end, or until SIGINT or SIGTERM, which are passed on to
/// it; the trace is finished in either case. `progress` is called about twice
/// a second. Errors: the job cannot start, the source cannot be opened, the
/// output cannot be written (found before the job starts where possible).
Result<RecordReport> record(
    const RecordOptions& options,
    const std::function<void(const RecordReport&)>& progress);

}  // namespace thermocline
