// Options that `thermocline tune` found, as a JSON file.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/result.h"
#include "traces/types.h"

namespace thermocline {

struct Tuned {
  struct Options {
    std::string options;  // JSON text
    // Geometric means over jobs and shares, of the time over first_touch's.
    double time = 0;
    double default_time = 0;
    std::size_t tried = 0;
    std::size_t failed = 0;  // of those, on some job
  };
  // By content, so that a copy under another name is the same trace.
  struct File {
    std::string path;
    Bytes bytes = 0;
    std::uint32_t checksum = 0;  // CRC-32C of its first 16 MiB
  };

  bool complete = true;
  std::vector<double> shares;
  std::vector<File> training;
  std::map<std::string, Options> policies;

  /// Its policies, with commas between.
  std::string names() const;
  /// Errors: kNotFound, kPermission, kIo, or kCorrupt for a file of another
  /// kind; all name it.
  static Result<Tuned> load(const std::string& path);
  /// The file's content.
  std::string text() const;
  /// Replaces the file at once or not at all. Errors: kIo.
  Status save(const std::string& path) const;
  /// Errors: kInvalid, naming one of the traces that it was tuned on; kIo.
  Status check_unseen(const std::vector<std::string>& traces) const;
};

/// Errors: kIo.
Result<Tuned::File> identify(const std::string& path);

}  // namespace thermocline
