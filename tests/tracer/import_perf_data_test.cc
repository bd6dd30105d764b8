#include <gtest/gtest.h>
#include <zstd.h>

#include "tests/tracer/import_bytes.h"
#include "tests/tracer/perf_bytes.h"
#include "tracer/perf_records.h"

namespace thermocline {
namespace {

constexpr const char* kGolden = "tests/golden/perf.data.weight_struct.gz";
constexpr std::uint64_t kFields =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

PerfBytes access(std::uint32_t pid, std::uint64_t time, Address address) {
  return PerfBytes().u64(0x400).u32(pid).u32(pid).u64(time).u64(address);
}

PerfBytes trailer(std::uint32_t pid, std::uint64_t time) {
  return PerfBytes().u32(pid).u32(pid).u64(time);
}

PerfBytes mapped(std::uint32_t pid, std::uint64_t time, Address start,
                 Bytes length, std::string_view path) {
  PerfBytes body;
  body.u32(pid).u32(pid).u64(start).u64(length).u64(0);
  body.u64(0).u64(0).u64(0).u32(3).u32(2).text(path);
  do body.put('\0');
  while (body.bytes.size() % 8 != 0);
  return body.append(trailer(pid, time));
}

PerfBytes named(std::uint32_t pid, std::uint64_t time, std::string_view name) {
  PerfBytes body;
  body.u32(pid).u32(pid).text(name);
  do body.put('\0');
  while (body.bytes.size() % 8 != 0);
  return body.append(trailer(pid, time));
}

PerfBytes forked(std::uint32_t pid, std::uint32_t parent, std::uint64_t time) {
  return PerfBytes().u32(pid).u32(parent).u32(pid).u32(parent).u64(time).append(
      trailer(pid, time));
}

// Two processes: 7, and 8 which it forks.
PerfBytes two_processes() {
  PerfBytes records;
  records.record(3, named(7, 10, "parent"));
  records.record(10, mapped(7, 20, 0x10000, 0x2000, "/bin/job"));
  records.record(9, access(7, 30, 0x10008));
  records.record(7, forked(8, 7, 40));
  records.record(10, mapped(7, 50, 0x90000, 0x1000, "after the fork"));
  records.record(10, mapped(8, 60, 0x50000, 0x1000, "//anon"));
  records.record(9, access(8, 70, 0x50010));
  records.record(9, access(8, 80, 0x10010));
  records.record(2, PerfBytes().u64(0).u64(5).append(trailer(0, 0)));  // LOST
  records.record(4, forked(8, 7, 90));                                 // EXIT
  return records;
}

struct FileLayout {
  std::uint64_t header_bytes = 104;
  std::uint64_t attribute_bytes = sizeof(perf_event_attr) + 16;
  std::uint64_t attributes_at = 104;
  std::uint64_t ids_at = 0;
  std::uint64_t ids_bytes = 0;
  std::uint64_t records_at = 104 + sizeof(perf_event_attr) + 16;
  std::uint64_t records_bytes = UINT64_MAX;  // what they are
};

// A perf.data file with one event, and its command as a feature.
PerfBytes file_of(const PerfBytes& records, FileLayout layout = {}) {
  if (layout.records_bytes == UINT64_MAX) {
    layout.records_bytes = records.bytes.size();
  }
  auto attr = access_attributes(kFields);
  attr.sample_id_all = 1;
  attr.sample_period = 99;
  PerfBytes out;
  out.text("PERFILE2").u64(layout.header_bytes).u64(layout.attribute_bytes);
  out.u64(layout.attributes_at).u64(layout.attribute_bytes);
  out.u64(layout.records_at).u64(layout.records_bytes);
  out.u64(0).u64(0);
  out.u64(1u << 11).u64(0).u64(0).u64(0);  // CMDLINE
  out.put(attr).u64(layout.ids_at).u64(layout.ids_bytes);
  out.append(records);
  PerfBytes command;
  command.u32(4);
  for (std::string word : {"perf", "record", "--", "job"}) {
    word.resize(8);
    command.u32(8).text(word);
  }
  const auto at = out.bytes.size() + 16;
  out.u64(at).u64(command.bytes.size()).append(command);
  return out;
}

PerfBytes stream_of(const PerfBytes& records) {
  auto attr = access_attributes(kFields);
  attr.sample_id_all = 1;
  attr.sample_period = 99;
  return PerfBytes().pipe_header().attributes(attr, {}).append(records);
}

// The records in compressed records of `piece` bytes each.
PerfBytes compressed(const PerfBytes& records, std::size_t piece,
                     bool counted) {
  std::vector<std::uint8_t> packed(ZSTD_compressBound(records.bytes.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(),
                              records.bytes.data(), records.bytes.size(), 1));
  PerfBytes out;
  for (std::size_t at = 0; at < packed.size(); at += piece) {
    const auto some = std::min(piece, packed.size() - at);
    PerfBytes body;
    if (counted) body.u64(some);
    body.bytes.insert(body.bytes.end(), packed.begin() + std::ptrdiff_t(at),
                      packed.begin() + std::ptrdiff_t(at + some));
    if (counted) body.bytes.resize((body.bytes.size() + 7) / 8 * 8);
    out.record(counted ? 83 : 81, body);
  }
  return out;
}

TEST(ImportPerfData, DecodesARealFile) {
  struct Expected {
    std::uint32_t thread;
    Address address;
    Address ip;
    std::uint32_t latency;
    Source source;
  };
  // As perf script 6.1 prints them.
  const std::vector<Expected> expected{
      {20144, 0x55ffba5cda08, 0xffffffffa4470d46, 225, Source::kFillBuffer},
      {18995, 0xffffffffa5e120e8, 0xffffffffa421a5fb, 96, Source::kFillBuffer},
      {3216, 0xffffc36a5ba4ba40, 0xffffffffa423a747, 71, Source::kL1},
      {20595, 0x4a1cba76618, 0x12daae4, 70, Source::kFillBuffer},
      {19460, 0x4e7ca80, 0x29d9c67, 92, Source::kL1},
      {26755, 0xffff8b6d0d9cb308, 0xffffffffa437f8be, 77, Source::kL2},
      {19360, 0x448253ad3300, 0x1ada15a, 240, Source::kL3},
      {19993, 0xffff8b6ce18f1608, 0xffffffffa423d68e, 70, Source::kL3},
      {20391, 0x4609440bd6d0, 0x19b3df9, 117, Source::kL3},
      {3217, 0xffffc36abf0c631c, 0xffffffffa423a52b, 81, Source::kL1},
      {0, 0xffff8b6d1f362fdc, 0xffffffffa421c0ee, 80, Source::kL3},
      {0, 0xffff8b5520563cf8, 0xffffffffa4222f49, 89, Source::kFillBuffer},
      {3216, 0xffffc36ac0131180, 0xffffffffa423a4fe, 249, Source::kFillBuffer},
      {19892, 0x7fc3ada9f408, 0x561c92f3f3ed, 168, Source::kL1},
  };
  const auto imported = import_file(kGolden);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->format, "perf-data");
  const auto& samples = imported->trace.samples;
  ASSERT_EQ(samples.size(), expected.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(samples[i].thread, expected[i].thread);
    EXPECT_EQ(samples[i].address, expected[i].address);
    EXPECT_EQ(samples[i].ip, expected[i].ip);
    EXPECT_EQ(samples[i].latency, expected[i].latency);
    EXPECT_EQ(samples[i].source, expected[i].source);
    EXPECT_EQ(samples[i].access, Access::kLoad);
    EXPECT_EQ(samples[i].period, 10009u) << "from the event's attributes";
  }
  EXPECT_EQ(samples[0].time, 13'166'196'585'610);
  EXPECT_EQ(samples[0].cpu, 28u);
  // Process 17575 has three of them.
  EXPECT_EQ(imported->trace.mappings.size(), 708u);
  EXPECT_EQ(imported->trace.info.command[1], "record");
  ASSERT_EQ(imported->notes.size(), 1u);
  EXPECT_NE(imported->notes[0].find("17575"), std::string::npos);
}

TEST(ImportPerfData, KeepsTheChosenProcess) {
  const auto one =
      import_file(kGolden, as_format("perf-data", R"({"pid": 17575})"));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->trace.samples.size(), 3u);
  ASSERT_FALSE(one->trace.losses.empty());
  EXPECT_EQ(one->trace.losses[0].source, "foreign");
  EXPECT_EQ(one->trace.losses[0].count, 11u);
  expect_error(import_file(kGolden, as_format("perf-data", R"({"pid": 5})")),
               {"process 5", "17575"});
}

TEST(ImportPerfData, FileStreamAndCompressedAreTheSame) {
  const auto records = two_processes();
  const auto file = import_bytes(file_of(records).bytes);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->trace.samples.size(), 3u);
  EXPECT_EQ(file->trace.samples[0].period, 99u);
  EXPECT_EQ(file->trace.lost(), 5u);
  EXPECT_EQ(file->trace.info.command, std::vector<std::string>{"job"});
  for (const std::size_t piece : {1u, 7u, 100u, 60'000u}) {
    for (const bool counted : {false, true}) {
      SCOPED_TRACE(piece);
      const auto packed = compressed(records, piece, counted);
      for (const auto& bytes : {file_of(packed), stream_of(packed)}) {
        const auto other = import_bytes(bytes.bytes);
        ASSERT_TRUE(other) << other.error().message;
        EXPECT_EQ(other->trace.samples, file->trace.samples);
        EXPECT_EQ(other->trace.mappings, file->trace.mappings);
        EXPECT_EQ(other->trace.losses, file->trace.losses);
      }
    }
  }
}

TEST(ImportPerfData, AForkedProcessHasItsParentsMappings) {
  const auto imported = import_bytes(file_of(two_processes()).bytes);
  ASSERT_TRUE(imported);
  const auto& mappings = imported->trace.mappings;
  ASSERT_EQ(mappings.size(), 2u) << "of process 8, which has most samples";
  EXPECT_EQ(mappings[0], (Mapping{20, 0x10000, 0x12000, "rw-p", "/bin/job"}));
  EXPECT_EQ(mappings[1], (Mapping{60, 0x50000, 0x51000, "rw-p", ""}));
  const auto parent = import_bytes(file_of(two_processes()).bytes,
                                   as_format("perf-data", R"({"pid": 7})"));
  ASSERT_TRUE(parent);
  ASSERT_EQ(parent->trace.mappings.size(), 2u);
  EXPECT_EQ(parent->trace.mappings[1].name, "after the fork");
}

TEST(ImportPerfData, CutFilesAreErrorsThatKeepWhatPrecedes) {
  const auto whole = file_of(two_processes()).bytes;
  const auto behind = FileLayout().records_at + two_processes().bytes.size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const std::vector<std::uint8_t> cut(whole.begin(),
                                        whole.begin() + std::ptrdiff_t(size));
    const auto imported = import_bytes(cut, as_format("perf-data"));
    if (size >= behind) {  // only the features are cut
      EXPECT_TRUE(imported.has_value());
      continue;
    }
    expect_error(imported, {"test: offset " + std::to_string(size)});
    auto partial = as_format("perf-data");
    partial.partial = true;
    const auto kept = import_bytes(cut, partial);
    ASSERT_TRUE(kept);
    EXPECT_FALSE(kept->damage.empty());
    EXPECT_FALSE(kept->trace.end.known);
  }
}

TEST(ImportPerfData, AFileThatPerfDidNotFinishIsReadToItsEnd) {
  FileLayout layout;
  layout.records_bytes = 0;
  auto bytes = file_of(two_processes(), layout).bytes;
  bytes.resize(layout.records_at + two_processes().bytes.size());
  const auto imported = import_bytes(bytes);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->trace.samples.size(), 3u);
  EXPECT_NE(imported->notes.at(0).find("killed"), std::string::npos);
}

TEST(ImportPerfData, LyingHeadersAreRefusedWithTheirOffset) {
  const auto refused = [](const FileLayout& layout,
                          const std::vector<std::string>& naming) {
    expect_error(import_bytes(file_of(two_processes(), layout).bytes), naming);
  };
  FileLayout layout;
  layout.header_bytes = 96;
  refused(layout, {"offset 8", "96 bytes"});
  layout = {};
  layout.attribute_bytes = 16;
  refused(layout, {"offset 16", "16 bytes each"});
  layout = {};
  layout.attribute_bytes = ~std::uint64_t{0};
  refused(layout, {"offset 16"});
  layout = {};
  layout.attributes_at = ~std::uint64_t{0} - 8;
  refused(layout, {"offset 24", "attributes"});
  layout = {};
  layout.ids_at = 1 << 30;
  layout.ids_bytes = 8;
  refused(layout, {"offset 104", "ids", "before the records"});
  layout = {};
  layout.records_at = ~std::uint64_t{0};
  refused(layout, {"offset 40", "begin at byte"});
  layout = {};
  layout.records_at = 8;
  refused(layout, {"offset 40"});
  layout = {};
  layout.records_bytes = ~std::uint64_t{0} - 100;
  refused(layout, {"offset 48"});
  layout = {};
  layout.records_bytes = 1 << 30;
  auto bytes = file_of(two_processes(), layout).bytes;
  bytes.resize(layout.records_at + two_processes().bytes.size());
  expect_error(import_bytes(bytes), {"offset", "ends within the records"});
}

TEST(ImportPerfData, ForeignFilesAreNamed) {
  expect_error(import_text("2ELIFREP" + std::string(200, '\0')),
               {"other byte order"});
  expect_error(
      import_text("PERFFILE" + std::string(200, '\0'), as_format("perf-data")),
      {"offset 0", "not perf's data"});
}

TEST(ImportPerfData, CompressedBombsAreRefused) {
  // 40 MiB of records that say nothing, in one record of some KiB.
  PerfBytes zeros;
  PerfBytes body;
  body.bytes.resize(65'528 - 8);
  for (int i = 0; i < 640; ++i) zeros.record(68, body);
  const auto packed = compressed(zeros, 60'000, false);
  expect_error(import_bytes(file_of(packed).bytes),
               {"offset 248", "unpacks to more than"});
  PerfBytes garbage;
  garbage.record(81, PerfBytes().u64(~0ull).u64(1));
  expect_error(import_bytes(file_of(garbage).bytes),
               {"offset", "does not unpack"});
  PerfBytes lies;
  lies.record(83, PerfBytes().u64(~0ull).u64(1));
  expect_error(import_bytes(file_of(lies).bytes), {"offset", "claims"});
  const auto twice =
      compressed(compressed(two_processes(), 1000, false), 1000, false);
  expect_error(import_bytes(file_of(twice).bytes), {"within another"});
}

TEST(ImportPerfData, WithoutAddressesItSaysWhatToDo) {
  PerfBytes records;
  auto attr = access_attributes(PERF_SAMPLE_TIME);
  PerfBytes stream;
  stream.pipe_header().attributes(attr, {}).record(9, PerfBytes().u64(5));
  const auto imported = import_bytes(stream.bytes);
  ASSERT_TRUE(imported);
  EXPECT_EQ(imported->trace.samples.size(), 0u);
  ASSERT_FALSE(imported->notes.empty());
  EXPECT_NE(imported->notes[0].find("perf record -d"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
