#include "tracer/import_input.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "tests/tracer/import_bytes.h"

namespace thermocline {
namespace {

using ByteList = std::vector<std::uint8_t>;

ByteList some_bytes(std::size_t count) {
  ByteList out(count);
  std::uint32_t state = 1;
  for (auto& byte : out) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(state >> 29);
  }
  return out;
}

// window 31: gzip, 15: zlib.
ByteList deflated(const ByteList& bytes, int window) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, 0), Z_OK);
  ByteList out(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

ByteList zstandard(const ByteList& bytes) {
  ByteList out(ZSTD_compressBound(bytes.size()));
  out.resize(
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

struct Whole {
  ByteList bytes;
  Status status;
};

Whole read_all(ImportInput in) {
  Whole whole;
  for (;;) {
    const auto more = in.next();
    if (!more) whole.status = more.error();
    if (!more || more->empty()) return whole;
    whole.bytes.insert(whole.bytes.end(), more->begin(), more->end());
    EXPECT_EQ(in.offset(), whole.bytes.size());
  }
}

TEST(ImportInput, UnpacksWhatIsPacked) {
  const auto plain = some_bytes(1'000'000);
  for (const auto& packed :
       {plain, deflated(plain, 31), deflated(plain, 15), zstandard(plain)}) {
    const auto whole = read_all(ImportInput::memory(packed, "x"));
    EXPECT_TRUE(whole.status);
    EXPECT_EQ(whole.bytes, plain);
  }
  EXPECT_TRUE(read_all(ImportInput::memory({}, "x")).bytes.empty());
}

TEST(ImportInput, PackedFilesInARowAreOne) {
  const auto plain = some_bytes(1000);
  auto twice = plain;
  twice.insert(twice.end(), plain.begin(), plain.end());
  for (auto packed : {deflated(plain, 31), zstandard(plain)}) {
    const auto once = packed;
    packed.insert(packed.end(), once.begin(), once.end());
    EXPECT_EQ(read_all(ImportInput::memory(packed, "x")).bytes, twice);
  }
}

TEST(ImportInput, TheHeadIsReadAgain) {
  const auto plain = some_bytes(300'000);
  auto in = ImportInput::memory(plain, "x");
  const auto head = in.head();
  ASSERT_GE(head.size(), 60'000u);
  EXPECT_TRUE(std::equal(head.begin(), head.end(), plain.begin(),
                         [](char a, std::uint8_t b) {
                           return static_cast<std::uint8_t>(a) == b;
                         }));
  EXPECT_EQ(in.head(), head);
  EXPECT_EQ(read_all(std::move(in)).bytes, plain);
}

TEST(ImportInput, CutAndDamagedPacksAreErrorsWithAnOffset) {
  const auto plain = some_bytes(500'000);
  for (auto packed : {deflated(plain, 31), zstandard(plain)}) {
    auto cut = packed;
    cut.resize(cut.size() / 2);
    const auto half = read_all(ImportInput::memory(cut, "x"));
    ASSERT_FALSE(half.status);
    EXPECT_EQ(half.status.error().code, Error::Code::kCorrupt);
    EXPECT_EQ(half.status.error().message,
              "offset " + std::to_string(half.bytes.size()) +
                  ": the packed file is cut; copy or pack it again");
    EXPECT_LT(half.bytes.size(), plain.size());
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 200; ++i) {
      packed[i] = 0xff;
    }
    const auto damaged = read_all(ImportInput::memory(packed, "x"));
    ASSERT_FALSE(damaged.status);
    EXPECT_NE(damaged.status.error().message.find("does not unpack"),
              std::string::npos);
  }
}

TEST(ImportInput, AHugeWindowIsRefused) {
  // An empty frame with a window of 16 MiB (RFC 8878, 3.1.1.1.2).
  const ByteList frame{0x28, 0xb5, 0x2f, 0xfd, 0, 14 << 3, 1, 0, 0};
  const auto whole = read_all(ImportInput::memory(frame, "x"));
  ASSERT_FALSE(whole.status);
  EXPECT_NE(whole.status.error().message.find("larger than 8 MiB"),
            std::string::npos)
      << whole.status.error().message;
  auto smaller = frame;
  smaller[5] = 13 << 3;
  EXPECT_TRUE(read_all(ImportInput::memory(smaller, "x")).status);
}

TEST(ImportInput, NamesWhatCannotBeOpened) {
  const auto missing = ImportInput::open("/no/such/file");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Error::Code::kNotFound);
  const auto directory = ImportInput::open("/tmp");
  ASSERT_FALSE(directory.has_value());
  EXPECT_EQ(directory.error().code, Error::Code::kInvalid);
  EXPECT_NE(directory.error().message.find("/tmp"), std::string::npos);
}

}  // namespace
}  // namespace thermocline
