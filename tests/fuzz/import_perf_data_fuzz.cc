// Any bytes as the format perf-data.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  thermocline::fuzz_import("perf-data", data, size);
  return 0;
}
