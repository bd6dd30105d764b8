// Any bytes as the format damon.
#include "tests/fuzz/import_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  thermocline::fuzz_import("damon", data, size);
  return 0;
}
