// Fuzzes one importer: any bytes are imported or refused with a reason, and
// what is imported is a trace as traces promise to be.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tracer/importer.h"
#include "traces/trace.h"

namespace thermocline {

inline void fuzz_import(const std::string& format, const std::uint8_t* data,
                        std::size_t size) {
  ImportOptions options;
  options.format = format;
  for (const bool partial : {false, true}) {
    options.partial = partial;
    const auto imported =
        import_recording(ImportInput::memory({data, size}, "fuzz"), options);
    if (!imported) {
      CHECK(imported.error().message.rfind("fuzz: ", 0) == 0);
      continue;
    }
    const Trace& trace = imported->trace;
    CHECK(trace.end.known == imported->damage.empty());
    CHECK(trace.run_ns() >= 0);
    CHECK(std::is_sorted(
        trace.samples.begin(), trace.samples.end(),
        [](const Sample& a, const Sample& b) { return a.time < b.time; }));
    for (const auto& mapping : trace.mappings) {
      CHECK(mapping.start <= mapping.end);
    }
    for (const auto& tensor : trace.tensors) {
      CHECK(tensor.died == -1 || tensor.born < tensor.died);
    }
  }
  // Recognising must not fail either.
  auto in = ImportInput::memory({data, size}, "fuzz");
  const auto found = recognise(in);
  CHECK(found || !found.error().message.empty());
}

}  // namespace thermocline
