// Any bytes as the records in a ring buffer: wherever in it they begin, they
// are decoded alike or the walk stops. Input: where the first record begins,
// by 8 bytes; then the records.
#include <bit>
#include <cstdint>
#include <vector>

#include "tests/tracer/perf_bytes.h"
#include "tracer/perf_decoder.h"
#include "tracer/ring_records.h"
#include "traces/varint.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kLoads = 1, kStores = 2;  // the events' ids

EventFormat event_format(std::uint64_t sample_type) {
  auto attr = access_attributes(sample_type);
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
  attr.sample_id_all = 1;
  std::size_t taken = 0;
  auto format = decode_attributes(
      {reinterpret_cast<const std::uint8_t*>(&attr), sizeof attr}, &taken);
  CHECK(format);
  return *std::move(format);
}

PerfDecoder make_decoder() {
  constexpr std::uint64_t kAccess = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                    PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                    PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD;
  PerfDecoder decoder;
  CHECK(decoder.add_event(
      event_format(kAccess | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT),
      {&kLoads, 1}));
  CHECK(decoder.add_event(
      event_format(kAccess | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN),
      {&kStores, 1}));
  return decoder;
}

SampleBatch decode(ByteSpan ring, std::uint64_t tail, std::uint64_t head) {
  auto decoder = make_decoder();
  std::vector<ProcessEvent> processes;
  decoder.follow_processes(&processes);
  std::vector<std::uint8_t> scratch;
  SampleBatch batch;
  const auto take = [&](const PerfHeader& header, ByteSpan body) {
    decoder.take(header, body, batch);
  };
  if (!each_ring_record(ring, tail, head, scratch, take)) ++batch.malformed;
  return batch;
}

}  // namespace
}  // namespace thermocline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace thermocline;
  if (size == 0) return 0;
  const ByteSpan records(data + 1, size - 1);
  std::vector<std::uint8_t> flat(std::bit_ceil(size + 7));
  std::vector<std::uint8_t> wrapped(flat.size());
  // Both positions run freely, and wrap as numbers too.
  const std::uint64_t tail = std::uint64_t{data[0]} * 8 - 1024;
  for (std::size_t i = 0; i < records.size(); ++i) {
    flat[i] = records[i];
    wrapped[(tail + i) & (wrapped.size() - 1)] = records[i];
  }
  const auto straight = decode(flat, 0, records.size());
  const auto around = decode(wrapped, tail, tail + records.size());
  CHECK(straight.samples == around.samples);
  CHECK(straight.pids == around.pids);
  CHECK(straight.counters == around.counters);
  CHECK(straight.lost == around.lost);
  CHECK(straight.throttled == around.throttled);
  CHECK(straight.malformed == around.malformed);
  return 0;
}
