// measure_file_operations: the same operations in a file or a DAX device, and
// what persisting costs.
//
// On DAX a file is its own memory, elsewhere the page cache and the way to
// disk. A DAX device (/dev/dax0.0) has no files: what lies at its beginning is
// overwritten, which must be asked for.
// Thread safety: call from one thread.
#pragma once

#include <string>

#include "daemon/probe_operations.h"

namespace thermocline {

/// Whether `path` is a folder, or a DAX device that can be mapped and may be
/// written to (`overwrite`): better refused now than after minutes. Errors:
/// kInvalid, those of dax_device().
Status check_place(const std::string& path, bool overwrite);

/// In a file in a folder, which is removed at the end, or at the beginning of
/// a device. Errors: those of MappedFile, run_together(); kInterrupted;
/// kUnsupported when a device is too small.
Result<PlaceFigures> measure_file_operations(const std::string& path,
                                             const NodePlan& plan,
                                             const ProbeOptions& options,
                                             ProbePace& pace);

/// Its weight in a ProbePace.
int weight_of_file_operations(const NodePlan& plan);

}  // namespace thermocline
