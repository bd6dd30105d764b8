// export_tensors: a checkpoint as a file that torch.load() reads.
//
// For whoever has the state but not this library: evaluation scripts, other
// machines, years from now. Nothing is held in memory twice: tensors go from
// the mapped pool straight into the file.
// Includes no torch. Thread safety: pure, but for the file.
#pragma once

#include <string>

#include "traces/replace_file.h"
#include "traces/watch.h"
#include "training/checkpoint.h"

namespace thermocline {

enum class ExportFormat {
  // A dict of tensors by name: torch.load() in Python (also with
  // weights_only), torch::pickle_load() in C++.
  kDict,
  // What torch::load() in C++ reads into a torch::nn::Module: each dot of a
  // name is an archive in an archive.
  kModule,
};

struct ExportOptions {
  ExportFormat format = ExportFormat::kDict;
  std::string prefix = {};  // only names that begin so; it is cut off
  Existing existing = Existing::kKeep;
  Watch watch = {};  // told of bytes of tensors
};

/// Writes the file whole or not at all. Returns: how many tensors it has.
/// Errors: kNotFound when no name has the prefix; kInvalid when the file
/// exists (kKeep), when names do not make a tree (kModule: "a" and "a.b"), or
/// when a piece's type is none that a tensor has; kInterrupted when the watch
/// says so; those of replace_file().
Result<std::size_t> export_tensors(const Restored& from,
                                   const std::string& path,
                                   const ExportOptions& options);

}  // namespace thermocline
