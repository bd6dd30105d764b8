// SequenceGroup: the events of one thread whose accesses are recorded in a row
// (sequence_source.h), and the ring that they share.
//
// Thread safety: none. Ownership: closes and unmaps all when destroyed.
#pragma once

#include <optional>
#include <vector>

#include "tracer/perf_ring_memory.h"
#include "tracer/sequence_source.h"
#include "tracer/twin_counters.h"

namespace thermocline {

class SequenceGroup {
 public:
  SequenceGroup() = default;
  SequenceGroup(const SequenceGroup&) = delete;
  SequenceGroup& operator=(const SequenceGroup&) = delete;
  ~SequenceGroup();

  /// Opens all for `thread`, each to sample up to `most` times, and lets them
  /// run. `restarts`: of one twin until its phase stands; what follows its
  /// start in time is no matter of luck where accesses are slow, so it should
  /// not always be the same. Errors: kNotFound when the thread has ended,
  /// kUnsupported for all else that the kernel refuses. Requires: called once.
  Status start(const SequenceEvents& events, int thread, std::size_t most,
               int restarts);

  /// Stops them. Returns: what they recorded, up to where the kernel says that
  /// it left something out.
  std::vector<TwinRecord> stop();
  const TwinRules& rules() const { return rules_; }

 private:
  struct Member {
    int descriptor = -1;
    std::uint64_t id = 0;
    std::size_t event = 0;
    std::size_t twin = 0;
  };

  Status open_leader(const PerfEvent& event, int thread);
  Status open_member(const PerfEvent& event, int thread, Member member);
  Status run(std::size_t most);
  Status part_twins(int restarts);
  bool take(std::span<const std::uint8_t> body,
            std::vector<TwinRecord>& records);

  int leader_ = -1;
  std::uint64_t leader_id_ = 0;
  std::vector<Member> members_;
  std::vector<EventFormat> formats_;  // by event
  std::optional<RingMemory> ring_;
  TwinRules rules_;
  PerfSample scratch_;
};

}  // namespace thermocline
