// What is written is what is read.
#include "traces/trace_file.h"

#include <limits>

#include "tests/traces/small_trace.h"
#include "tests/traces/trace_bytes.h"
#include "traces/crc32c.h"
#include "traces/sample_codec.h"

namespace thermocline {
namespace {

using testing::HasSubstr;

Trace read_back(const Trace& trace) {
  const auto bytes = bytes_of(trace);
  auto read = read_trace(bytes, "t.trace");
  CHECK(read.has_value());
  EXPECT_EQ(read->damage, "");
  EXPECT_EQ(read->file_bytes, bytes.size());
  EXPECT_EQ(read->dropped, 0);
  return std::move(read->trace);
}

TEST(TraceFile, RoundTripOfEverything) {
  const Trace trace = small_trace();
  expect_same(read_back(trace), trace);
}

TEST(TraceFile, RoundTripOfExtremeValues) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr auto kMost32 = std::numeric_limits<std::uint32_t>::max();
  constexpr auto kLate = std::numeric_limits<Nanos>::max();
  constexpr auto kEarly = std::numeric_limits<Nanos>::min();
  Trace trace;
  trace.info.command = {"", std::string("nul\0byte", 8), "\xff\xfe"};
  trace.info.page_bytes = Bytes{1} << 63;
  trace.end = {true, std::numeric_limits<int>::min(), kEarly};
  trace.mappings = {{kEarly, kMost, 0, "", ""}, {kLate, 0, kMost, "x", "\n"}};
  trace.tensors = {
      {kMost32, kMost, kMost, kEarly, kLate, std::string(70000, 'l')},
      {0, 0, 0, kLate, kEarly, ""}};
  trace.operators = {{"",
                      "",
                      kEarly,
                      kLate,
                      kMost32,
                      Phase::kOptimizer,
                      {0, kMost32, 0},
                      {kMost32}},
                     {"a", "a", kLate, kEarly, 0, Phase::kUnknown, {}, {}}};
  trace.marks = {{kEarly, ""}, {kLate, ""}};
  trace.counters = {{kEarly, kMost32, kMost, kMost, kMost, {kMost, 0}, {}, {}},
                    {kLate, 0, 0, 0, 0, {}, {}, {}}};
  trace.samples = {{kEarly, kMost, kMost, kMost32, kMost32, kMost32, kMost32,
                    Access::kStore, Source::kCxl, 65535, kMost},
                   {kEarly, 0, 0, 0, 0, 0, 0, Access::kLoad, Source::kUnknown},
                   {kLate, kMost / 2, 1, 7, kMost32, 1, 0, Access::kStore,
                    Source::kDram, 0, 0x1fff}};
  trace.sequences = {
      {kEarly,
       kMost32,
       kMost32,
       {{kMost, kMost, kMost32, Access::kStore, Source::kFillBuffer},
        {0, 0, 0, Access::kLoad, Source::kUnknown}}},
      {kLate, 0, 0, {}}};
  trace.losses = {{kEarly, "", kMost}, {kLate, "samples", 0}};
  trace.periods = {{kEarly, "", 0}, {kLate, "page-faults", kMost}};
  expect_same(read_back(trace), trace);
}

TEST(TraceFile, RoundTripOfManyBlocksAndOutOfOrderEvents) {
  Trace trace;
  trace.end = {true, 3, 99, 1 << 30};
  Dice dice(1);
  for (int i = 0; i < 40'000; ++i) {
    Sample sample;
    sample.time = static_cast<Nanos>(dice.below(1 << 20));
    sample.address = dice.roll();
    sample.ip = dice.below(1000);
    sample.retire_latency = static_cast<std::uint16_t>(dice.below(1 << 16));
    if (dice.below(3) != 0) {
      sample.physical = dice.roll() >> 12 << 12 | (sample.address & 0xfff);
    }
    trace.samples.push_back(sample);
    trace.marks.push_back(
        {static_cast<Nanos>(dice.below(1 << 20)), "mark " + std::to_string(i)});
  }
  const auto bytes = bytes_of(trace);
  const auto read = read_trace(bytes, "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->blocks, block_offsets(bytes).size() - 1);
  EXPECT_GT(read->blocks, 6);
  // Sorted, and stably.
  trace.sort();
  expect_same(read->trace, trace);
}

TEST(TraceFile, PhysicalAddressesTakeNoByteWhereThereAreNone) {
  Trace trace;
  small_trace_parts::add_samples(trace, 1000);
  SampleEncoder encoder;
  const auto without = encoder.encode(trace.samples).size();
  auto& one = trace.samples[500];
  one.physical = Address{1} << 40 | (one.address & 0xfff);
  EXPECT_GE(encoder.encode(trace.samples).size(), without + 1000);
  // Where virtual neighbours are physical ones, they take a byte each.
  for (auto& sample : trace.samples) sample.physical = sample.address - 4096;
  const auto most = without + 1000 + 8 + trace.samples.size() / 50;
  EXPECT_LE(encoder.encode(trace.samples).size(), most);
}

TEST(TraceFile, AnEmptyTraceIsWhole) {
  Trace trace;
  trace.end.known = true;
  expect_same(read_back(trace), trace);
}

TEST(TraceFile, SamplesTakeTenBytesOrSo) {
  Trace trace = small_trace();
  trace.samples.clear();
  const auto without = bytes_of(trace).size();
  small_trace_parts::add_samples(trace, 30'000);
  const auto each = (bytes_of(trace).size() - without) / 30'000;
  EXPECT_LE(each, 12);
}

TEST(TraceFile, TheExampleOfTheFormatStaysReadable) {
  const auto read = read_trace("traces/samples/small.trace");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->damage, "");
  EXPECT_EQ(read->skipped, 0);
  Trace written = small_trace();
  written.info.source.clear();  // it is older than that field
  expect_same(read->trace, written);
}

TEST(TraceFile, InvariantsAreRestored) {
  Trace trace;
  trace.end.known = true;
  for (const auto& [serial, born] : std::vector<std::pair<ObjectId, Nanos>>{
           {7, 30}, {7, 20}, {8, 10}, {7, 25}}) {
    trace.tensors.emplace_back();
    trace.tensors.back().serial = serial;
    trace.tensors.back().born = born;
  }
  trace.operators.resize(1);
  trace.operators[0].reads = {7, 9, 8};
  trace.operators[0].writes = {9, 9};
  const auto read = read_trace(bytes_of(trace), "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dropped, 5);
  ASSERT_EQ(read->trace.tensors.size(), 2);
  EXPECT_EQ(read->trace.tensors[0].serial, 8);
  EXPECT_EQ(read->trace.tensors[1].born, 20);
  EXPECT_THAT(read->trace.operators[0].reads, testing::ElementsAre(7, 8));
  EXPECT_TRUE(read->trace.operators[0].writes.empty());
}

TEST(TraceFile, ATensorWrittenAliveAndAgainWhenDeadIsOne) {
  Trace trace;
  trace.end.known = true;
  trace.tensors = {{7, 0x1000, 64, 20, -1, "a"}, {8, 0x2000, 64, 21, -1, ""}};
  trace.tensors.push_back(trace.tensors[0]);
  trace.tensors.back().died = 40;
  const auto read = read_trace(bytes_of(trace), "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dropped, 0);
  ASSERT_EQ(read->trace.tensors.size(), 2);
  EXPECT_EQ(read->trace.tensors[0].died, 40);
  EXPECT_EQ(read->trace.tensors[1].died, -1);
}

TEST(TraceFile, WhatALaterMinorVersionAddedIsPassedOver) {
  const Trace trace = small_trace();
  const auto whole = bytes_of(trace);
  const auto offsets = block_offsets(whole);
  // A block of a new kind, after the Info block.
  ByteVector bytes = whole;
  bytes.resize(offsets[1]);
  append_block(bytes, 200, ByteVector{1, 2, 3});
  // A mark with one more field.
  append_block(bytes, BlockKind::kMarks, ByteVector{6, 2, 0, 1, 'm', 42, 43});
  // A block of a known kind in an unknown codec.
  const auto odd = bytes.size();
  append_block(bytes, BlockKind::kMarks, ByteVector{1, 2, 3});
  bytes[odd + 1] = 7;
  const auto crc = crc32c(ByteSpan(bytes).subspan(odd, 16));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[odd + 16 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
  // Samples with one more column.
  append_block(bytes, BlockKind::kSamples,
               ByteVector{1, 1, 1, 8, 2, 1, 0, 3, 1, 0, 4, 1, 6, 99, 2, 5, 5});
  put_bytes(bytes, ByteSpan(whole).subspan(offsets[offsets.size() - 2]));
  const auto read = read_trace(bytes, "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->damage, "");
  EXPECT_EQ(read->skipped, 2);
  EXPECT_EQ(read->blocks, 6);
  EXPECT_EQ(read->trace.marks, (std::vector<Mark>{{1, "m"}}));
  ASSERT_EQ(read->trace.samples.size(), 1);
  EXPECT_EQ(read->trace.samples[0].time, 4);
  EXPECT_EQ(read->trace.samples[0].address, 3);
  EXPECT_EQ(read->trace.samples[0].period, 1);
}

}  // namespace
}  // namespace thermocline
