// Any payloads in blocks whose checksums are right, which chance alone would
// not get past. Input: blocks of {kind, length (2 bytes, little end first),
// payload}. What is read must be read again to the same trace when written.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "traces/block.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

ByteVector file_of(ByteSpan input) {
  const auto header = file_header();
  ByteVector file(header.begin(), header.end());
  Packer packer;
  while (input.size() >= 3) {
    const std::uint8_t kind = input[0];
    const std::size_t promised = input[1] | std::size_t{input[2]} << 8;
    input = input.subspan(3);
    const auto payload = input.first(std::min(promised, input.size()));
    put_bytes(file, packer.pack(kind, payload));
    input = input.subspan(payload.size());
  }
  return file;
}

void write_again(const Trace& trace) {
  static const std::string path =
      "/tmp/block_fuzz." + std::to_string(getpid()) + ".trace";
  const auto wrote = write_trace(path, trace, true);
  CHECK(wrote);
  const auto again = read_trace(path);
  unlink(path.c_str());
  CHECK(again);
  CHECK(again->dropped == 0 && again->skipped == 0);
  CHECK(again->trace.info == trace.info);
  CHECK(again->trace.end == trace.end);
  CHECK(again->trace.mappings == trace.mappings);
  CHECK(again->trace.tensors == trace.tensors);
  CHECK(again->trace.operators == trace.operators);
  CHECK(again->trace.marks == trace.marks);
  CHECK(again->trace.counters == trace.counters);
  CHECK(again->trace.samples == trace.samples);
  CHECK(again->trace.sequences == trace.sequences);
  CHECK(again->trace.losses == trace.losses);
  CHECK(again->trace.periods == trace.periods);
}

}  // namespace
}  // namespace thermocline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace thermocline;
  const auto file = file_of(ByteSpan(data, size));
  const auto read = read_trace(file, "fuzz");
  CHECK(read);
  (void)read->trace.run_ns();
  (void)read->trace.lost();
  write_again(read->trace);
  return 0;
}
