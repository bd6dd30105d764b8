// What comes from another rank is read whole, or refused; never beyond its end.
#include "training/elastic/packed_checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>

namespace thermocline {
namespace {

using Packed = std::vector<std::byte>;

Packed some_checkpoint() {
  static const std::vector<std::uint8_t> weights{1, 2, 3, 4, 5, 6, 7, 8};
  static const std::vector<std::uint8_t> counter{9, 10};
  Restored state;
  state.step = 70'000;
  state.sequence = 3;
  state.slot = 1;
  state.pieces = {{"weights", "float32", {2, 1}, weights, 0},
                  {"counter", "bytes", {}, counter, 0},
                  {"nothing", "bytes", {0}, {}, 0}};
  return pack(state);
}

// Whatever was done to it: an error, or pieces that lie within the bytes.
void expect_bounded(Packed packed) {
  const auto read = unpack(std::move(packed));
  if (!read) {
    EXPECT_EQ(read.error().code, Error::Code::kCorrupt);
    EXPECT_NE(read.error().message.find("rank 0"), std::string::npos);
    return;
  }
  const auto* begin = reinterpret_cast<const std::uint8_t*>(read->bytes.data());
  for (const Piece& piece : read->restored.pieces) {
    EXPECT_GE(piece.bytes.data(), begin);
    EXPECT_LE(piece.bytes.data() + piece.bytes.size(),
              begin + read->bytes.size());
  }
}

TEST(PackedCheckpoint, ComesBack) {
  const auto read = unpack(some_checkpoint());
  ASSERT_TRUE(read) << read.error().message;
  const Restored& state = read->restored;
  EXPECT_EQ(state.step, 70'000u);
  EXPECT_EQ(state.sequence, 3u);
  EXPECT_EQ(state.slot, 1u);
  ASSERT_EQ(state.pieces.size(), 3u);
  EXPECT_EQ(state.pieces[0].shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(state.pieces[1].name, "counter");
  ASSERT_EQ(state.pieces[1].bytes.size(), 2u);
  EXPECT_EQ(state.pieces[1].bytes[1], 10);
  EXPECT_TRUE(state.pieces[2].bytes.empty());
}

TEST(PackedCheckpoint, CutAnywhereItIsRefused) {
  const Packed whole = some_checkpoint();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
    EXPECT_FALSE(unpack(Packed(whole.begin(), end))) << size;
  }
  Packed longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(unpack(longer));
}

TEST(PackedCheckpoint, WithAnyByteChangedItIsBounded) {
  const Packed whole = some_checkpoint();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : "\x01\"09[]{}\x80\xff") {  // and the 0 at its end
      Packed changed = whole;
      changed[at] = static_cast<std::byte>(value);
      expect_bounded(std::move(changed));
    }
  }
}

TEST(PackedCheckpoint, AHeadWithoutAnEndIsRefused) {
  Packed deep(100'000, std::byte{'['});  // arrays in arrays
  const std::uint64_t length = deep.size() - sizeof length;
  std::memcpy(deep.data(), &length, sizeof length);
  EXPECT_FALSE(unpack(std::move(deep)));
}

}  // namespace
}  // namespace thermocline
