// Any bytes as the format execution-trace.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  thermocline::fuzz_import("execution-trace", data, size);
  return 0;
}
