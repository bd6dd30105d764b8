// ProcessHistory: which process had which mappings, from what perf's records
// say of processes.
//
// A process begins with its parent's mappings as they are when it is forked,
// and with none when it executes a program.
//
// Thread safety: none. Memory: all events.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tracer/perf_processes.h"

namespace thermocline {

class ProcessHistory {
 public:
  void add(ProcessEvent event);

  /// All mappings that the process ever had, in the order of the recording.
  /// Cost: the events of the process and of its ancestors.
  std::vector<Mapping> mappings_of(std::uint32_t pid) const;
  /// Its last name, empty if none is known.
  std::string name_of(std::uint32_t pid) const;
  /// When it ended, -1 if that was not seen.
  Nanos ended(std::uint32_t pid) const;
  /// Mappings of all user processes. The kernel's own are nobody's.
  std::uint64_t mappings() const { return mappings_; }

 private:
  std::unordered_map<std::uint32_t, std::vector<ProcessEvent>> by_pid_;
  std::uint64_t mappings_ = 0;
};

}  // namespace thermocline
