// Builders for tests of the trace file: files in memory, whole traces
// compared, and blocks made by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/block.h"
#include "traces/trace_file.h"

namespace thermocline {

// A directory of one test's own, gone with it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "traces_test.XXXXXX");
    CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline ByteVector load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return ByteVector(std::istreambuf_iterator<char>(in), {});
}

inline void save(const std::string& path, ByteSpan bytes) {
  std::ofstream out(path, std::ios::binary);
  for (const auto byte : bytes) out.put(static_cast<char>(byte));
}

// The bytes of the file that a trace becomes.
inline ByteVector bytes_of(const Trace& trace) {
  const TestDirectory directory;
  const auto path = directory.file("t.trace");
  CHECK(write_trace(path, trace, false).has_value());
  return load(path);
}

// Appends a block made by hand.
inline void append_block(ByteVector& to, std::uint8_t kind, ByteSpan payload) {
  Packer packer;
  put_bytes(to, packer.pack(kind, payload));
}
inline void append_block(ByteVector& to, BlockKind kind, ByteSpan payload) {
  append_block(to, static_cast<std::uint8_t>(kind), payload);
}

inline ByteVector header_bytes() {
  const auto header = file_header();
  return ByteVector(header.begin(), header.end());
}

// Where each block begins, and where the last one ends.
inline std::vector<std::size_t> block_offsets(ByteSpan file) {
  std::vector<std::size_t> offsets{kFileHeaderBytes};
  while (offsets.back() + kBlockHeaderBytes <= file.size()) {
    const auto header =
        read_block_header(file.subspan(offsets.back(), kBlockHeaderBytes));
    CHECK(header.has_value());
    offsets.push_back(offsets.back() + kBlockHeaderBytes +
                      header->stored_bytes);
  }
  return offsets;
}

inline void expect_same(const Trace& a, const Trace& b) {
  EXPECT_EQ(a.info, b.info);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.mappings, b.mappings);
  EXPECT_EQ(a.tensors, b.tensors);
  EXPECT_EQ(a.operators, b.operators);
  EXPECT_EQ(a.marks, b.marks);
  EXPECT_EQ(a.counters, b.counters);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.sequences, b.sequences);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.periods, b.periods);
}

}  // namespace thermocline
