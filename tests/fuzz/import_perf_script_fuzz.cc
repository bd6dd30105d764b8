// Any bytes as the format perf-script.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  thermocline::fuzz_import("perf-script", data, size);
  return 0;
}
