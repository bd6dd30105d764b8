// Any bytes as a trace file.
#include "traces/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto read = thermocline::read_trace(std::span(data, size), "fuzz");
  if (!read) {
    CHECK(!read.error().message.empty());
    return 0;
  }
  CHECK(read->file_bytes == size);
  CHECK(read->trace.end.known || !read->damage.empty());
  CHECK(read->trace.run_ns() >= 0 || read->trace.end.known);
  (void)read->trace.lost();
  return 0;
}
