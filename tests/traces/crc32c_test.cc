#include "traces/crc32c.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <vector>

namespace thermocline {
namespace {

std::uint32_t crc_of(std::string_view text) {
  return crc32c(std::vector<std::uint8_t>(text.begin(), text.end()));
}

// RFC 3720 section B.4, and the usual check value.
TEST(Crc32c, PublishedValues) {
  EXPECT_EQ(crc_of(""), 0);
  EXPECT_EQ(crc_of("123456789"), 0xE3069283);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0x00)), 0x8A9136AA);
  EXPECT_EQ(crc32c(std::vector<std::uint8_t>(32, 0xff)), 0x62A8AB43);
  std::vector<std::uint8_t> counting(32);
  std::iota(counting.begin(), counting.end(), std::uint8_t{0});
  EXPECT_EQ(crc32c(counting), 0x46DD794E);
}

TEST(Crc32c, EveryFlippedBitShows) {
  std::vector<std::uint8_t> bytes(21, 0x5a);
  const auto before = crc32c(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto other = bytes;
    other[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
    EXPECT_NE(crc32c(other), before);
  }
}

}  // namespace
}  // namespace thermocline
