#include "tracer/perf_stream.h"

#include <gtest/gtest.h>

#include "tests/tracer/perf_bytes.h"

namespace thermocline {
namespace {

constexpr std::uint64_t kFields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
                                  PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;
constexpr std::uint64_t kCounted = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME |
                                   PERF_SAMPLE_CPU | PERF_SAMPLE_READ;

PerfBytes access(std::uint64_t id, std::uint64_t time, Address address,
                 std::uint32_t thread) {
  return PerfBytes()
      .u64(id)
      .u64(0x400)
      .u32(thread)
      .u32(thread)
      .u64(time)
      .u64(address)
      .u32(1)
      .u32(0);
}

perf_event_attr counting(std::uint32_t type, std::uint64_t config) {
  auto attr = access_attributes(kCounted);
  attr.type = type;
  attr.config = config;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  return attr;
}

// Loads, stores and a counting group on two CPUs, as the emulated machine
// sends them.
PerfBytes machine_stream() {
  PerfBytes out;
  out.pipe_header();
  auto loads = access_attributes(kFields);
  loads.use_clockid = 1;
  loads.clockid = kVirtualClock;
  auto stores = loads;
  stores.config = 0x82d0;
  out.attributes(loads, {1, 2}).event_name(1, "loads");
  out.attributes(stores, {3, 4});
  out.attributes(counting(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
                 {5, 6});
  out.attributes(counting(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
                 {7, 8});
  out.attributes(
      counting(PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
      {9, 10});
  out.attributes(counting(PERF_TYPE_RAW, 0x1d3), {11, 12});
  out.event_name(11, "tier0.read-misses");
  out.attributes(counting(PERF_TYPE_RAW, 0x10b0), {13, 14});
  out.event_name(13, "tier0.write-misses");
  out.attributes(counting(PERF_TYPE_RAW, 0x1d3), {15, 16});
  out.event_name(15, "tier1.read-misses");
  out.attributes(counting(PERF_TYPE_RAW, 0x304), {17, 18});
  out.event_name(17, "tier1.read-lines");
  out.attributes(counting(PERF_TYPE_RAW, 0xc04), {19, 20});
  out.event_name(19, "tier1.write-lines");
  out.record(9, access(2, 1000, 0x1000, 0xffffffff));
  out.record(9, access(3, 1100, 0x2000, 0xffffffff));
  out.record(9, PerfBytes()
                    .u64(6)
                    .u64(2000)
                    .u32(1)
                    .u32(0)
                    .u64(8)
                    .u64(1'000'000)
                    .u64(6)
                    .u64(500'000)
                    .u64(8)
                    .u64(200'000)
                    .u64(10)
                    .u64(70)
                    .u64(12)
                    .u64(7)
                    .u64(14)
                    .u64(30)
                    .u64(16)
                    .u64(90)
                    .u64(18)
                    .u64(11)
                    .u64(20));
  out.record(2, PerfBytes().u64(1).u64(25));        // LOST
  out.record(13, PerfBytes().u64(4));               // LOST_SAMPLES
  out.record(5, PerfBytes().u64(0).u64(1).u64(1));  // THROTTLE
  out.record(66, PerfBytes().u32(5));  // TRACING_DATA: 5 bytes follow, padded
  out.text("12345678");
  out.record(71, PerfBytes().u64(16).u64(0));  // AUXTRACE
  out.u64(~0ull).u64(~0ull);
  out.record(12345, PerfBytes().u64(1));  // of a future kernel
  out.record(68, {});
  out.record(9, access(1, 3000, 0x3000, 0xffffffff));
  return out;
}

void expect_machine_stream(const PerfStream& stream, const SampleBatch& batch) {
  ASSERT_EQ(batch.samples.size(), 3u);
  EXPECT_EQ(batch.samples[0].address, 0x1000u);
  EXPECT_EQ(batch.samples[0].access, Access::kLoad);
  EXPECT_EQ(batch.samples[1].access, Access::kStore);
  EXPECT_EQ(batch.samples[2].time, 3000);
  EXPECT_EQ(batch.samples[2].cpu, 1u);
  EXPECT_EQ(batch.samples[2].thread, 0xffffffffu);
  ASSERT_EQ(batch.counters.size(), 1u);
  const Counters expected{2000,    1,        1'000'000, 500'000,
                          200'000, {77, 30}, {0, 90},   {0, 11}};
  EXPECT_EQ(batch.counters[0], expected);
  EXPECT_EQ(batch.lost, 29u);
  EXPECT_EQ(batch.throttled, 1u);
  EXPECT_EQ(batch.malformed, 0u);
  EXPECT_EQ(batch.newest, 3000);
  EXPECT_TRUE(stream.decoder().virtual_clock());
  EXPECT_TRUE(stream.decoder().unattributed());
}

TEST(PerfStream, DecodesTheEmulatedMachinesStream) {
  PerfStream stream;
  SampleBatch batch;
  ASSERT_TRUE(stream.feed(machine_stream().bytes, batch));
  expect_machine_stream(stream, batch);
  EXPECT_EQ(stream.held(), 0u);
}

TEST(PerfStream, AnyFragmentationIsTheSame) {
  const auto whole = machine_stream().bytes;
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    PerfStream stream;
    SampleBatch batch;
    for (std::size_t at = 0; at < whole.size(); at += piece) {
      const auto some = std::min(piece, whole.size() - at);
      ASSERT_TRUE(stream.feed({whole.data() + at, some}, batch));
    }
    expect_machine_stream(stream, batch);
  }
}

TEST(PerfStream, SamplesThatCannotBeDecodedAreCounted) {
  auto bytes = machine_stream();
  bytes.record(9, PerfBytes().u64(1).u64(2));    // cut short
  bytes.record(9, access(99, 4000, 0x4000, 1));  // nobody's id
  bytes.record(9, access(1, 5000, 0, 1));        // accessed nothing
  PerfStream stream;
  SampleBatch batch;
  ASSERT_TRUE(stream.feed(bytes.bytes, batch));
  EXPECT_EQ(batch.malformed, 2u);
  EXPECT_EQ(batch.samples.size(), 3u);
}

TEST(PerfStream, BrokenFramingIsAnErrorWithItsOffset) {
  auto bytes = machine_stream();
  const auto at = bytes.bytes.size();
  bytes.u32(9).put(std::uint16_t{0}).put(std::uint16_t{7}).u64(1);
  PerfStream stream;
  SampleBatch batch;
  const auto status = stream.feed(bytes.bytes, batch);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kCorrupt);
  EXPECT_EQ(status.error().message, "offset " + std::to_string(at) +
                                        ": a record of type 9 claims 7 bytes");
  EXPECT_EQ(batch.samples.size(), 3u) << "what precedes it counts";
  EXPECT_FALSE(stream.feed({}, batch)) << "and it stays broken";
}

TEST(PerfStream, ForeignBytesAreNamed) {
  const auto error_of = [](const PerfBytes& bytes) {
    PerfStream stream;
    SampleBatch batch;
    return stream.feed(bytes.bytes, batch).error();
  };
  const auto text = error_of(PerfBytes().text("# captured on some day"));
  EXPECT_EQ(text.code, Error::Code::kCorrupt);
  EXPECT_NE(text.message.find("perf record -o -"), text.message.npos);
  const auto file = error_of(PerfBytes().text("PERFILE2").u64(104));
  EXPECT_EQ(file.code, Error::Code::kUnsupported);
  const auto swapped = error_of(PerfBytes().text("2ELIFREP").u64(16));
  EXPECT_EQ(swapped.code, Error::Code::kUnsupported);
  const auto packed =
      error_of(PerfBytes().pipe_header().record(81, PerfBytes().u64(0)));
  EXPECT_EQ(packed.code, Error::Code::kCorrupt) << "no Zstandard";
  const auto events =
      error_of(PerfBytes().pipe_header().record(64, PerfBytes().u64(0)));
  EXPECT_EQ(events.code, Error::Code::kCorrupt);
}

TEST(PerfStream, OneEventNeedsNoIds) {
  PerfBytes bytes;
  bytes.pipe_header();
  bytes.attributes(access_attributes(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR), {});
  bytes.record(9, PerfBytes().u64(1).u64(0x5000));
  PerfStream stream;
  SampleBatch batch;
  ASSERT_TRUE(stream.feed(bytes.bytes, batch));
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.samples[0].address, 0x5000u);
  EXPECT_FALSE(stream.decoder().virtual_clock());
}

}  // namespace
}  // namespace thermocline
