// PerfFeatures: what a perf recording says of the machine and of itself.
//
// Thread safety: a plain value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thermocline {

struct PerfFeatures {
  // HEADER_* of perf's format (tools/perf/util/header.h).
  static constexpr std::uint64_t kRelease = 4;
  static constexpr std::uint64_t kProcessor = 8;
  static constexpr std::uint64_t kCommand = 11;

  std::string release;               // of the kernel
  std::string processor;             // as /proc/cpuinfo names it
  std::vector<std::string> command;  // perf's own: {"perf", "record", ...}

  /// Takes a feature in; those of no concern and bad ones are passed over.
  void take(std::uint64_t feature, std::span<const std::uint8_t> bytes);
  /// Kernel and processor in one line, empty if neither is known.
  std::string host() const;
  /// The job's command: what perf's own was told to run, else perf's own.
  std::vector<std::string> job() const;
};

}  // namespace thermocline
