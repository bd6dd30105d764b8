// Sampler: a source of sampled memory accesses and hardware counters.
//
// One decoder of perf's record format serves every source: a perf pipe stream
// (a file, FIFO or character device that carries what `perf record -o -`
// writes; the emulated machine's samples are such a stream), and the live ring
// buffers of perf_event_open. Loss is counted, never silent.
//
// Thread safety: one thread uses a sampler. Ownership: closes its descriptors
// when destroyed.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/trace.h"

namespace thermocline {

// What one event of a source fell short of.
struct Shortfall {
  std::string event;            // its name
  std::uint64_t lost = 0;       // samples dropped
  std::uint64_t throttled = 0;  // times the kernel paused it
};

// Accesses in a row, and whose they are.
struct SeenSequence {
  AccessSequence sequence;
  std::uint32_t pid = 0xffffffff;  // not told
};

// What came since the last read.
struct SampleBatch {
  std::vector<Sample> samples;
  // The process of each sample, in step with them (0xffffffff: not told), or
  // none where all are of the one that was asked for.
  std::vector<std::uint32_t> pids;
  std::vector<Counters> counters;
  std::vector<SeenSequence> sequences;  // whole ones
  std::uint64_t lost = 0;               // records the source says it dropped
  std::uint64_t throttled = 0;          // times the kernel paused sampling
  std::uint64_t malformed = 0;          // records that could not be decoded
  std::uint64_t foreign = 0;            // samples of other processes, left out
  std::vector<Shortfall> shortfalls;    // of lost and throttled: whose is known
  std::vector<PeriodChange> periods;    // also those with which it began
  Nanos newest = -1;   // latest time on the source's clock; -1: none
  bool begun = false;  // the source says that it samples from now on
  bool ended = false;  // the source will deliver no more

  /// Leaves out the samples that are `unwanted`, with their pids.
  template <typename Unwanted>
  void leave_out(Unwanted unwanted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (unwanted(samples[i])) continue;
      samples[kept] = samples[i];
      if (!pids.empty()) pids[kept] = pids[i];
      ++kept;
    }
    samples.resize(kept);
    if (!pids.empty()) pids.resize(kept);
  }

  /// Counts what `event` (empty: not known) fell short of.
  void fell_short(const std::string& event, std::uint64_t lost_samples,
                  std::uint64_t throttles) {
    lost += lost_samples;
    throttled += throttles;
    if (event.empty()) return;
    for (auto& one : shortfalls) {
      if (one.event != event) continue;
      one.lost += lost_samples;
      one.throttled += throttles;
      return;
    }
    shortfalls.push_back({event, lost_samples, throttles});
  }
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  /// Waits until something arrives or `timeout` passes, then returns all that
  /// is there. Errors: kIo, kCorrupt (the stream is not perf's).
  virtual Result<SampleBatch> read(std::chrono::milliseconds timeout) = 0;

  /// Descriptor that becomes readable when read() would return something, for
  /// poll; -1 where there is none.
  virtual int descriptor() const = 0;

  /// "monotonic", or "virtual" where the stream runs on the emulated
  /// machine's clock.
  virtual std::string clock() const = 0;

  /// What kind of source it is, in a word: "perf", "stream",
  /// "pages:soft-dirty", "none".
  virtual std::string kind() const = 0;

  /// True when samples carry no process (thread == 0xffffffff), so that they
  /// must be attributed by the targets' mappings.
  virtual bool unattributed() const = 0;
};

/// Opens a source by its description:
///   "stream:PATH"   perf pipe stream from a file, FIFO or device
///   "stream"        the same from standard input
///   "perf[:WORDS]"  live sampling of process `pid`; see perf_source.h
///   "pages[:TRACKER]" the kernel's own access tracking of process `pid`
///                   (page_tracker.h), where there is no PMU
///   "none"          no samples
/// With `children`, "perf" also samples the processes that `pid` forks from
/// now on; SampleBatch::pids tells them apart. Errors name the path or the
/// missing right and the remedy.
Result<std::unique_ptr<Sampler>> open_sampler(const std::string& source,
                                              int pid, bool children = false);

/// Waits until the source samples, it ends, or `timeout` has passed; what comes
/// before is dropped. A perf on the other end of a pipe is started when we are,
/// and reads all of /proc first; where it does not say when it is done (older
/// ones), its first sample does. Errors: those of read().
Status await_sampling(Sampler& sampler, std::chrono::milliseconds timeout);

}  // namespace thermocline
