// Files that are no traces, or no longer.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "tests/traces/small_trace.h"
#include "tests/traces/trace_bytes.h"
#include "traces/crc32c.h"
#include "traces/trace_file.h"

namespace thermocline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Few samples, so that every byte can be tried.
Trace tiny_trace() {
  Trace trace = small_trace();
  trace.samples.resize(20);
  return trace;
}

// `part` holds no event that `whole` lacks, and none out of its order.
void expect_part_of(const Trace& part, const Trace& whole) {
  const auto within = [](const auto& few, const auto& many) {
    EXPECT_TRUE(std::includes(
        many.begin(), many.end(), few.begin(), few.end(),
        [](const auto& a, const auto& b) { return a.time < b.time; }));
    for (const auto& event : few) {
      EXPECT_NE(std::find(many.begin(), many.end(), event), many.end());
    }
  };
  within(part.samples, whole.samples);
  within(part.marks, whole.marks);
  within(part.mappings, whole.mappings);
  within(part.counters, whole.counters);
  within(part.losses, whole.losses);
  within(part.periods, whole.periods);
  EXPECT_LE(part.tensors.size(), whole.tensors.size());
  EXPECT_LE(part.operators.size(), whole.operators.size());
}

TEST(TraceReader, ATraceCutAnywhereIsReadUpToTheCut) {
  const Trace whole = tiny_trace();
  const auto bytes = bytes_of(whole);
  const auto offsets = block_offsets(bytes);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto read = read_trace(ByteSpan(bytes).first(cut), "t.trace");
    if (cut < kFileHeaderBytes) {
      ASSERT_FALSE(read) << cut;
      EXPECT_EQ(read.error().code, Error::Code::kCorrupt);
      EXPECT_THAT(read.error().message, StartsWith("t.trace: "));
      continue;
    }
    ASSERT_TRUE(read) << cut;
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), cut);
    const auto blocks = static_cast<std::uint64_t>(next - offsets.begin()) - 1;
    EXPECT_EQ(read->blocks, blocks) << cut;
    EXPECT_THAT(read->damage, StartsWith("t.trace: cut at byte " +
                                         std::to_string(*(next - 1)) + ": "));
    expect_part_of(read->trace, whole);
  }
}

TEST(TraceReader, AFlippedBitAnywhereIsNoticed) {
  const Trace whole = tiny_trace();
  const auto bytes = bytes_of(whole);
  const auto offsets = block_offsets(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    auto flipped = bytes;
    flipped[at] ^= static_cast<std::uint8_t>(1 << (at % 8));
    const auto read = read_trace(flipped, "t.trace");
    if (at < kFileHeaderBytes) {
      EXPECT_FALSE(read) << at;
      continue;
    }
    ASSERT_TRUE(read) << at;
    const auto next = std::upper_bound(offsets.begin(), offsets.end(), at);
    EXPECT_EQ(read->blocks,
              static_cast<std::uint64_t>(next - offsets.begin()) - 1);
    EXPECT_THAT(read->damage,
                AllOf(StartsWith("t.trace: damaged at byte " +
                                 std::to_string(*(next - 1)) +
                                 ": checksum mismatch in "),
                      HasSubstr("; everything before it was read")));
    expect_part_of(read->trace, whole);
  }
}

TEST(TraceReader, DamageNamesFileOffsetAndCause) {
  const auto bytes = bytes_of(tiny_trace());
  const auto offsets = block_offsets(bytes);
  // The blocks of a trace that was written at once: info, mappings, tensors,
  // operators, marks, counters, losses, samples, end.
  ASSERT_EQ(offsets.size(), 10);
  auto bad = bytes;
  bad[offsets[7] + 30] ^= 1;
  EXPECT_EQ(read_trace(bad, "job.trace")->damage,
            "job.trace: damaged at byte " + std::to_string(offsets[7]) +
                ": checksum mismatch in block 8 (samples); everything before "
                "it was read");
  EXPECT_EQ(
      read_trace(ByteSpan(bytes).first(offsets[7] + 30), "job.trace")->damage,
      "job.trace: cut at byte " + std::to_string(offsets[7]) +
          ": block 8 (samples) is incomplete; everything before it was "
          "read");
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(read_trace(longer, "job.trace")->damage,
            "job.trace: damaged at byte " + std::to_string(bytes.size()) +
                ": bytes follow the end block; everything before it was read");
}

void expect_refused(const std::string& path, Error::Code code,
                    const std::string& words) {
  const auto read = read_trace(path);
  ASSERT_FALSE(read) << path;
  EXPECT_EQ(read.error().code, code);
  EXPECT_THAT(read.error().message,
              AllOf(StartsWith(path + ": "), HasSubstr(words)));
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

TEST(TraceReader, SaysWhatIsNoTraceFile) {
  const TestDirectory directory;
  using enum Error::Code;
  expect_refused(directory.file("none"), kNotFound, "no such file");
  expect_refused(directory.file(""), kInvalid, "is a directory");
  expect_refused("/dev/zero", kInvalid, "not a regular file");

  const auto fifo = directory.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  expect_refused(fifo, kInvalid, "not a regular file");

  const auto empty = directory.file("empty");
  save(empty, {});
  expect_refused(empty, kCorrupt, "empty");

  const auto text = directory.file("text");
  std::ofstream(text) << "time,address\n1,2\n";
  expect_refused(text, kCorrupt, "not a trace");

  const auto perf = directory.file("perf.data");
  std::ofstream(perf) << "PERFILE2" << std::string(100, '\0');
  expect_refused(perf, kCorrupt, "not a trace");

  const auto secret = directory.file("secret");
  save(secret, {});
  ASSERT_EQ(chmod(secret.c_str(), 0), 0);
  if (geteuid() != 0) expect_refused(secret, kPermission, "may not be read");
}

// A file header of another version.
ByteVector header_of(std::uint8_t major, std::uint8_t minor) {
  auto bytes = header_bytes();
  bytes[8] = major;
  bytes[10] = minor;
  const auto crc = crc32c(ByteSpan(bytes).first(12));
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(crc >> (8 * i));
  }
  return bytes;
}

TEST(TraceReader, RefusesANewerMajorVersionAndReadsANewerMinorOne) {
  const auto newer = read_trace(header_of(2, 3), "t.trace");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Error::Code::kUnsupported);
  EXPECT_EQ(newer.error().message,
            "t.trace: trace format 2.3 is newer than this program, which reads "
            "1.x; install a newer thermocline");

  auto minor = header_of(1, 9);
  const auto bytes = bytes_of(small_trace());
  put_bytes(minor, ByteSpan(bytes).subspan(kFileHeaderBytes));
  const auto read = read_trace(minor, "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->damage, "");
  expect_same(read->trace, small_trace());
}

std::string damage_of(BlockKind kind, const ByteVector& payload) {
  auto bytes = header_bytes();
  append_block(bytes, kind, payload);
  const auto read = read_trace(bytes, "t.trace");
  CHECK(read.has_value());
  EXPECT_TRUE(read->trace.samples.empty());
  EXPECT_TRUE(read->trace.marks.empty());
  return read->damage;
}

TEST(TraceReader, RefusesMalformedPayloadsWithGoodChecksums) {
  const std::string prefix = "t.trace: damaged at byte 16: block 1 ";
  const auto malformed = [&](BlockKind kind, const ByteVector& payload) {
    EXPECT_THAT(damage_of(kind, payload),
                AllOf(StartsWith(prefix), HasSubstr("is malformed (")));
  };
  malformed(BlockKind::kMarks, {5, 2, 0, 1, 'm'});     // longer than it is
  malformed(BlockKind::kMarks, {4, 2, 0, 1, 'm', 9});  // a good one, then not
  malformed(BlockKind::kMarks, {2, 2, 3});             // no such text
  malformed(BlockKind::kMarks, {3, 2, 0, 9});          // text past the end
  malformed(BlockKind::kMarks, {0});                   // no fields
  malformed(BlockKind::kEnd, {});
  malformed(BlockKind::kInfo, {});
  malformed(BlockKind::kInfo, {8, 0, 0, 0, 1, 1, 1, 0, 0});  // no page size
  malformed(BlockKind::kCounters, {9, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f});
  malformed(BlockKind::kSamples, {0xff, 0xff, 0xff, 0x7f});
  malformed(BlockKind::kSamples, {2, 1, 1, 8});  // one time for two
  malformed(BlockKind::kSamples, {1, 1, 1, 8});  // no addresses
  malformed(BlockKind::kSamples, {1, 1, 1, 8, 2, 1, 0, 3, 1, 1, 4, 1, 6});
  malformed(BlockKind::kSamples, {1, 1, 2, 8, 8, 2, 1, 0, 3, 1, 0, 4, 1, 6});
}

TEST(TraceReader, UnknownPhasesAndSourcesBecomeUnknown) {
  auto bytes = header_bytes();
  append_block(bytes, BlockKind::kOperators,
               ByteVector{9, 0, 0, 1, 2, 2, 0, 77, 0, 0});
  append_block(bytes, BlockKind::kSamples,
               ByteVector{1, 1, 1, 8, 2, 1, 0, 3, 1, 0, 4, 1, 6, 9, 1, 0x7f});
  const auto read = read_trace(bytes, "t.trace");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->blocks, 2) << read->damage;
  EXPECT_EQ(read->trace.operators[0].phase, Phase::kUnknown);
  EXPECT_EQ(read->trace.samples[0].source, Source::kUnknown);
  EXPECT_EQ(read->trace.samples[0].access, Access::kStore);
}

// A text of 1 MiB, named by one mark of three bytes after the other.
TEST(TraceReader, ABombIsDefused) {
  const std::size_t text = 1 << 20;
  ByteVector row{2, 0};
  put_varint(row, text);
  row.resize(row.size() + text, 'x');
  ByteVector payload;
  put_varint(payload, row.size());
  put_bytes(payload, row);
  for (int i = 0; i < 200; ++i) {
    put_bytes(payload, ByteVector{2, 0, 1});
  }
  EXPECT_THAT(damage_of(BlockKind::kMarks, payload),
              HasSubstr("block 1 (marks) is malformed (unpacks to too much)"));
}

TEST(TraceReader, HostileLengthsAllocateNothing) {
  auto bytes = header_bytes();
  append_block(bytes, BlockKind::kSamples, ByteVector{0});
  for (const auto field : {std::size_t{4}, std::size_t{8}}) {
    auto bad = bytes;
    bad[kFileHeaderBytes + field + 3] = 0xff;
    const auto crc = crc32c(ByteSpan(bad).subspan(kFileHeaderBytes, 16));
    for (std::size_t i = 0; i < 4; ++i) {
      bad[kFileHeaderBytes + 16 + i] =
          static_cast<std::uint8_t>(crc >> (8 * i));
    }
    EXPECT_EQ(read_trace(bad, "t.trace")->damage,
              "t.trace: damaged at byte 16: block 1 (samples) claims to be "
              "larger than a block can be (16 MiB); everything before it was "
              "read");
  }
}

}  // namespace
}  // namespace thermocline
