// perf_script: one line of what `perf script` prints.
//
// The text is meant for people: fields are told apart by their order and their
// widths (tools/perf/builtin-script.c), and which there are depends on -F:
//
//   COMM PID/TID [CPU] SECONDS: PERIOD EVENT: ADDR DATA_SRC |...| WEIGHT IP SYM
//
// The time and an address are needed, the rest may be missing.
//
// Thread safety: pure.
#pragma once

#include <optional>
#include <string_view>

#include "tracer/perf_processes.h"
#include "tracer/perf_records.h"

namespace thermocline {

struct ScriptLine {
  enum class Kind {
    kOther,        // a call chain's, a comment, or nothing of ours
    kSample,       // a sampled access
    kUnaddressed,  // a sample without an address
    kProcess,      // --show-mmap-events, --show-task-events
    kLost,         // --show-lost-events
  };
  Kind kind = Kind::kOther;
  Sample sample;
  std::uint32_t pid = 0xffffffff;
  ProcessEvent process;
  std::uint64_t lost = 0;
};

ScriptLine parse_script_line(std::string_view line);

}  // namespace thermocline
