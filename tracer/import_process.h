// ImportProcess: one job out of a recording of several processes.
//
// A trace holds one job's address space. Without a choice all samples are
// kept, the mappings are those of the process that has most samples, and a
// note says so; with one (--pid), the samples of others are counted as
// foreign.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tracer/importer.h"
#include "tracer/process_history.h"

namespace thermocline {

class ImportProcess {
 public:
  /// `chosen`: the process to keep; 0: not chosen.
  explicit ImportProcess(std::int64_t chosen) : chosen_(chosen) {}

  /// Takes a sample of process `pid` (0xffffffff: not told).
  void add(const Sample& sample, std::uint32_t pid, ImportedTrace& out);
  void add(ProcessEvent event) { history_.add(std::move(event)); }

  /// After the last: mappings, notes and what was left out. Errors: kInvalid
  /// when the chosen process has no sample, with those that have most.
  Status finish(ImportedTrace& out) const;

 private:
  std::uint32_t most_samples() const;
  std::string who(std::uint32_t pid) const;

  std::int64_t chosen_;
  std::unordered_map<std::uint32_t, std::uint64_t> samples_;  // by process
  std::uint64_t* last_ = nullptr;  // of samples_: they come in runs
  std::uint32_t last_pid_ = 0;
  std::uint64_t foreign_ = 0;
  ProcessHistory history_;
};

}  // namespace thermocline
