#include "traces/varint.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

constexpr auto kMost = ~std::uint64_t{0};

TEST(Varint, RoundTripOfEveryLength) {
  std::vector<std::uint64_t> values{0, kMost, kMost - 1};
  for (int bit = 0; bit < 64; ++bit) {
    values.push_back(std::uint64_t{1} << bit);
    values.push_back((std::uint64_t{1} << bit) - 1);
  }
  ByteVector bytes;
  for (const auto value : values) put_varint(bytes, value);
  ByteReader in(bytes);
  for (const auto value : values) EXPECT_EQ(in.varint(), value);
  EXPECT_TRUE(in.ok());
  EXPECT_TRUE(in.empty());
}

TEST(Varint, SmallDifferencesAreSmallAndAllComeBack) {
  EXPECT_EQ(fold(0), 0);
  EXPECT_EQ(fold(kMost), 1);  // -1
  EXPECT_EQ(fold(1), 2);
  for (const auto value : {std::uint64_t{0}, kMost, kMost / 2, kMost / 2 + 1}) {
    EXPECT_EQ(unfold(fold(value)), value);
  }
}

TEST(Varint, BadBytesAreNotedAndNeverReadPast) {
  const std::vector<ByteVector> bad{
      {},
      {0x80},
      ByteVector(9, 0xff),
      ByteVector(11, 0x80),
      {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}};
  for (const auto& bytes : bad) {
    ByteReader in(bytes);
    EXPECT_EQ(in.varint(), 0);
    EXPECT_FALSE(in.ok());
  }
  const ByteVector three{1, 2, 3};
  ByteReader in(three);
  EXPECT_EQ(in.take(2).size(), 2);
  EXPECT_TRUE(in.take(2).empty());
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.varint(), 3);
  EXPECT_FALSE(in.ok());
  EXPECT_TRUE(ByteReader(three).take(kMost).empty());
}

}  // namespace
}  // namespace thermocline
