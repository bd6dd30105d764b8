// SequenceSource: now and then, accesses in a row of one thread, by its PMU.
//
// For one thread of a process after the other, a group of events is opened for
// a few milliseconds: a counter of instructions leads it, and each access event
// samples twice, as twins (twin_counters.h). The kernel disables each after so
// many overflows (PERF_EVENT_IOC_REFRESH, perf_event_open(2)), so that no more
// interrupts than those can come. What leaves a doubt whether all accesses are
// there is dropped, and counted.
//
// The twins start together, and so would see the same accesses: whatever
// schedules the group, enabling one of it as well, makes the kernel start all
// with two to go. PERF_EVENT_IOC_PERIOD restarts one event alone
// (__perf_event_period() in kernel/events/core.c): done to one twin while the
// thread runs, it has either phase with the same chance. A thread that was
// switched out has lost it.
//
// Thread safety: none; it has no thread of its own. Ownership: closes all when
// destroyed. Times are CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tracer/perf_events.h"
#include "tracer/sampler.h"

namespace thermocline {

class SequenceGroup;  // sequence_group.h

struct SequenceEvents {
  PerfEvent instructions;  // or what else is to tell the order; it only counts
  std::vector<PerfEvent> accesses;
};

/// Instructions, loads that missed the first cache and all stores. Errors:
/// those of perf_events(), where the processor has no such events.
Result<SequenceEvents> sequence_events(const PerfPlace& place);

class SequenceSource {
 public:
  struct Options {
    Nanos every = 50'000'000;  // from one to the next, at least
    Nanos lasts = 5'000'000;   // then it is read, whole or not
    std::size_t most = 256;    // records of one twin
    Nanos record_ns = 2'000;   // what the interrupt of one costs its thread
    double share = 1;          // of a core, that they may cost
  };

  /// Of the threads of process `pid`.
  SequenceSource(SequenceEvents events, int pid, Options options);
  SequenceSource(const SequenceSource&) = delete;
  SequenceSource& operator=(const SequenceSource&) = delete;
  ~SequenceSource();

  /// Does what is due: ends the open one, whose accesses go to `whole`, and
  /// begins the next. Returns: how many interrupts the ended one took.
  /// Whatever the kernel refuses ends it all: sequences are an extra.
  std::size_t step(std::vector<SeenSequence>& whole);

  /// Becomes readable when step() has something to do; -1: it has ended.
  int descriptor() const { return timer_; }
  bool ended() const { return timer_ < 0; }
  std::uint64_t taken() const { return taken_; }
  std::uint64_t dropped() const { return dropped_; }  // those in doubt
  std::uint64_t silent() const { return silent_; }  // threads that did nothing

 private:
  void begin(Nanos now);
  std::size_t end(std::vector<SeenSequence>& whole);
  void wake_at(Nanos time) const;
  void give_up();

  const SequenceEvents events_;
  const int pid_;
  const Options options_;
  int timer_;
  int thread_ = 0;    // the last one's
  int restarts_ = 0;  // of the last one's twins
  Nanos due_ = 0;     // for the next
  Nanos over_ = 0;    // for the open one
  std::unique_ptr<SequenceGroup> open_;
  std::uint64_t taken_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t silent_ = 0;
};

}  // namespace thermocline
