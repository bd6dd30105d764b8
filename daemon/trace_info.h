// What a trace holds, in figures: for `thermocline info` and the report.
//
// Thread safety: pure functions. Requires: sorted traces.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "traces/tensor_accesses.h"
#include "traces/trace_file.h"

namespace thermocline {

/// What `thermocline info --json` prints of a trace.
nlohmann::ordered_json trace_info(const std::string& file,
                                  const ReadTrace& read);

std::map<std::string, std::uint64_t> losses_by_source(const Trace& trace);

/// Tensors that a sample hit, and those that shared a page when they were born.
std::size_t sampled_tensors(const TensorAccesses& accesses);
std::size_t sharing_tensors(const TensorAccesses& accesses);

}  // namespace thermocline
