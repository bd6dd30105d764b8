// RingSet: some events open on all threads of a process, or on whole CPUs,
// with one ring buffer for each CPU. The only place that samples events.
//
// Periods are those with which it was opened. To change them, open another
// set: PERF_EVENT_IOC_PERIOD does not reach the events that threads inherited,
// and while it runs the kernel swaps the events of parent and child
// (perf_event_context_sched_out() in kernel/events/core.c), so that which
// thread got the new period is a matter of luck.
//
// Thread safety: none. Ownership: closes and unmaps all when destroyed.
#pragma once

#include <linux/perf_event.h>

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tracer/perf_events.h"
#include "tracer/perf_ring_memory.h"

namespace thermocline {

// What is sampled.
struct SamplingTarget {
  int pid = 0;  // all its threads, present and future
  // Also the processes that it forks from now on, and theirs. Not on whole
  // CPUs, where only its own samples are kept.
  bool children = false;
  std::string cgroup;  // path; not empty: all its processes (or only `pid`)
  bool whole_cpus() const { return !cgroup.empty() || everything; }
  bool everything = false;  // open on whole CPUs, keep only those of `pid`
  std::string name() const;
};

class RingSet {
 public:
  RingSet() = default;
  RingSet(const RingSet&) = delete;
  RingSet& operator=(const RingSet&) = delete;
  ~RingSet();

  /// Opens all. `periods`: of each event. `watch` is told of each descriptor
  /// that becomes readable when a ring fills. Errors: those of open_perf.
  /// Requires: called once.
  Status open(const SamplingTarget& target, std::span<const PerfEvent> events,
              std::span<const std::uint64_t> periods,
              const std::function<void(int)>& watch);

  /// Stops sampling; what is in the rings stays.
  void stop();
  /// Takes what is in the rings.
  void drain(SampleBatch& batch);
  /// Asks every event what it lost since it was last asked; what the rings'
  /// own records tell is less, and late. Cost: a system call per descriptor.
  void ask_losses(SampleBatch& batch);
  /// True when the rings told of a loss since ask_losses().
  bool knows_of_loss() const;

 private:
  struct Open {
    int descriptor;
    std::size_t event;
    std::uint64_t lost = 0;  // as last read
  };

  Status open_threads(const std::function<void(int)>& watch);
  Status open_cpus(int pid, const std::function<void(int)>& watch);
  Status open_on(int pid, const std::function<void(int)>& watch);
  Status open_one(std::size_t event, int pid, std::size_t cpu,
                  const std::function<void(int)>& watch);
  Status tell_decoder(std::size_t event, std::uint64_t id);
  Status join_ring(int descriptor, std::size_t cpu,
                   const std::function<void(int)>& watch);
  Error refused(int error, const PerfEvent& event) const;

  SamplingTarget target_;
  std::vector<PerfEvent> events_;
  std::vector<perf_event_attr> attrs_;  // as the kernel has taken them
  std::vector<int> cpus_;
  int cgroup_ = -1;
  std::vector<int> leaders_;  // auxiliary events
  std::vector<Open> open_;
  std::vector<int> ring_owners_;  // by position in cpus_; -1: none yet
  std::vector<RingMemory> rings_;
  PerfDecoder decoder_;
  std::uint64_t told_losses_ = 0;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace thermocline
