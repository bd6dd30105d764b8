// perf_stream: samples and counters in the form that `perf record -o -` has.
//
// The stream opens with the pipe header and one attribute record per event,
// each naming its ids; then come samples, LOST records for what could not be
// delivered, THROTTLE and UNTHROTTLE records where an event paused, and
// FINISHED_ROUND records. Events, in order: loads, stores, and
// a group led by the count of instructions; every millisecond of a vCPU's
// virtual time one sample of the leader carries the whole group's values. Last,
// what samples loads that the first cache did not serve, and stores, one after
// the other for a while; with each comes the count of instructions, and the
// first of a sequence stands for all that were passed over before it.
// Thread safety: none; pure functions of their arguments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/machine/core.h"

namespace thermocline {

class PerfStream {
 public:
  PerfStream(const CoreKind& core, std::span<const MemoryTier> tiers,
             unsigned cpus);

  /// What every stream begins with.
  std::string header(unsigned load_period, unsigned store_period) const;

  std::string sample(const SampledAccess& one) const;
  std::string in_sequence(const SampledAccess& one) const;
  std::string count(unsigned cpu, Picos time, const Counters& counters) const;
  std::string lost(std::uint64_t records) const;
  std::string throttle(unsigned cpu, bool stores, bool pauses,
                       Picos time) const;
  std::string finished_round() const;

 private:
  struct Event {
    std::string name;
    std::uint32_t type;
    std::uint64_t config;
  };

  void append_event(std::string& out, std::size_t event,
                    std::uint64_t period) const;
  bool is_sequence(std::size_t event) const {
    return event + 2 >= events_.size();
  }
  bool is_access(std::size_t event) const;
  // The fields that all samples of accesses begin with.
  std::string begin_access(std::size_t event, const SampledAccess& one) const;

  std::uint64_t id(std::size_t event, unsigned cpu) const {
    return event * cpus_ + cpu + 1;
  }

  CoreKind core_;
  std::vector<std::uint64_t> data_sources_;
  unsigned cpus_;
  std::vector<Event> events_;
};

}  // namespace thermocline
