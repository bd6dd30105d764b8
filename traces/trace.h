// Trace: all that was seen of one run of a job, in memory.
//
// Every time in a trace is on one clock, Trace::Info::clock, in nanoseconds;
// a recorder that hears of events on another clock converts them before it
// writes. The file format is in FORMAT.md, its writer and reader in
// trace_file.h. What kind of machine it was is kept as the JSON text of an
// estimator::Machine, which this layer does not interpret.
//
// Thread safety: plain values. Invariants after reading or finish():
// everything is ordered by time (operators by start, tensors by birth; what is
// simultaneous stays in the order it was added); tensor serials are unique;
// reads and writes name known tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/access_sequence.h"
#include "traces/types.h"

namespace thermocline {

// A run of the target's address space, as in /proc/PID/maps. A later mapping
// replaces an earlier one where they overlap.
struct Mapping {
  Nanos time = 0;
  Address start = 0;
  Address end = 0;
  std::string permissions;  // "rw-p"
  std::string name;         // "[heap]", a path, or empty (anonymous)
  bool operator==(const Mapping&) const = default;
};

// One allocation of the framework's tensor allocator.
struct Tensor {
  ObjectId serial = 0;
  Address address = 0;
  Bytes bytes = 0;
  Nanos born = 0;
  Nanos died = -1;    // -1: alive at the end
  std::string label;  // what it is for, when known: "parameter", or empty
  bool operator==(const Tensor&) const = default;
};

enum class Phase : std::uint8_t {
  kUnknown = 0,
  kForward = 1,
  kBackward = 2,
  kOptimizer = 3,
};

// One logical operator (the topmost with a schema).
struct Operator {
  std::string name;   // "aten::addmm"
  std::string layer;  // module or user scope, or empty
  Nanos start = 0;
  Nanos end = 0;
  std::uint32_t thread = 0;
  Phase phase = Phase::kUnknown;
  std::vector<ObjectId> reads;  // tensor serials
  std::vector<ObjectId> writes;
  bool operator==(const Operator&) const = default;
};

// A named instant of the job ("step 3"), or of the recording ("start",
// "end": the job's first and last instant; the measured run time is their
// difference).
struct Mark {
  Nanos time = 0;
  std::string name;
  bool operator==(const Mark&) const = default;
};

// Cumulative hardware counters of one CPU.
struct Counters {
  Nanos time = 0;
  std::uint32_t cpu = 0;
  std::uint64_t instructions = 0;
  std::uint64_t cycles = 0;
  std::uint64_t stall_cycles = 0;
  std::vector<std::uint64_t> misses;  // by tier
  // Lines that passed a tier's link, prefetched ones and write-backs included,
  // as a memory controller counts them; empty: not told. By tier.
  std::vector<std::uint64_t> lines_read;
  std::vector<std::uint64_t> lines_written;
  bool operator==(const Counters&) const = default;
};

// From `time` on, one sample of `event` stands for `period` such events.
struct PeriodChange {
  Nanos time = 0;
  std::string event;
  std::uint64_t period = 1;
  bool operator==(const PeriodChange&) const = default;
};

// Less came than happened; each source reports what it knows it lost.
struct Loss {
  Nanos time = 0;
  // "samples", or "samples:EVENT" where it is known whose; "throttled:EVENT"
  // (times the kernel paused sampling); "malformed"; "observer"; "writer"
  std::string source;
  std::uint64_t count = 0;
  /// Of samples, whether it is known whose or not.
  bool of_samples() const {
    return source == "samples" || source.starts_with("samples:");
  }
  bool operator==(const Loss&) const = default;
};

struct Trace {
  struct Info {
    std::vector<std::string> command;
    std::string clock = "monotonic";  // "monotonic", or "virtual" (emulated)
    std::string machine;    // JSON text of the Machine; empty: not known
    std::string placement;  // policy under which it ran: "all_slow", ...
    std::string host;       // kernel release and CPU model
    Bytes page_bytes = 4096;
    bool emulated = false;  // recorded on an emulated machine
    // What the samples are: "perf", "stream", "pages:soft-dirty", ...; empty
    // in traces of before. What tracks pages sees no single access.
    std::string source;
    bool operator==(const Info&) const = default;
  };
  // What is known only when the job has ended; absent in a cut trace.
  struct End {
    bool known = false;
    int exit_status = 0;  // as a shell reports it: 128 + signal
    Nanos run_ns = 0;     // measured run time on Info::clock
    // The job's own resident memory (RssAnon) at its peak, touched or not by
    // what was sampled; 0: not known.
    Bytes private_bytes = 0;
    bool operator==(const End&) const = default;
  };

  Info info;
  End end;
  std::vector<Mapping> mappings;
  std::vector<Tensor> tensors;
  std::vector<Operator> operators;
  std::vector<Mark> marks;
  std::vector<Counters> counters;
  std::vector<Sample> samples;
  // Where the source tells (access_sequence.h).
  std::vector<AccessSequence> sequences;
  std::vector<Loss> losses;
  // Those with which sampling began and each later one; none where the source
  // does not tell. Sample::period has the outcome for each sample; this also
  // says since when there were none.
  std::vector<PeriodChange> periods;

  /// Orders everything by time. Cost: O(n log n), O(n) where it is in order.
  void sort();
  /// Time of the first mark "start", or of the earliest event; mappings,
  /// losses and periods count only where there is nothing else. 0 for an empty
  /// trace. Cost: O(n) where that mark is missing.
  Nanos start_ns() const;
  /// Time of the last mark "end", or of the latest event, likewise.
  Nanos end_ns() const;
  /// Measured run time: End's, or end_ns() - start_ns() of a cut trace; never
  /// negative in the latter.
  Nanos run_ns() const;
  /// Samples that are known to be missing: losses whose source is "samples",
  /// with or without an event.
  std::uint64_t lost() const;
};

}  // namespace thermocline
