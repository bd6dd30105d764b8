#include "training/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thermocline {
namespace {

using testing::HasSubstr;

Durability by_page(std::uint64_t magic) {
  return durability_of(file_system(magic), Granularity::kPage);
}

TEST(FileSystem, ADisksOwnAreDurable) {
  for (const std::uint64_t magic :
       {0xEF53U, 0x58465342U, 0x9123683EU, 0xF2F52010U}) {
    const auto found = by_page(magic);
    EXPECT_TRUE(found.power_cut) << magic;
    EXPECT_FALSE(found.unknown);
    EXPECT_EQ(found.why, "");
  }
}

TEST(FileSystem, MemoryIsNot) {
  for (const std::uint64_t magic : {0x01021994U, 0x858458f6U, 0x958458f6U}) {
    for (const auto granularity :
         {Granularity::kPage, Granularity::kLine, Granularity::kByte}) {
      const auto found = durability_of(file_system(magic), granularity);
      EXPECT_FALSE(found.power_cut) << magic;
      EXPECT_FALSE(found.unknown);
      EXPECT_THAT(found.why, HasSubstr("in memory"));
    }
  }
  EXPECT_THAT(by_page(0x01021994).why, HasSubstr("(tmpfs)"));
}

// Whose sync is worth what is behind them.
TEST(FileSystem, OfOthersItIsNotKnown) {
  const std::pair<std::uint64_t, const char*> others[] = {
      {0x794c7630, "(overlayfs)"}, {0x6969, "(NFS)"},
      {0x65735546, "(FUSE)"},      {0x01021997, "(9p)"},
      {0xFF534D42, "(SMB)"},       {0xFE534D42, "(SMB)"},
      {0x00c36400, "(0xc36400)"},  {0, "(0x0)"}};
  for (const auto& [magic, name] : others) {
    const auto found = by_page(magic);
    EXPECT_FALSE(found.power_cut) << name;
    EXPECT_TRUE(found.unknown) << name;
    EXPECT_THAT(found.why, HasSubstr(name));
  }
}

// The kernel grants a mapping finer than pages on persistent memory alone.
TEST(FileSystem, FinerThanAPageIsADaxMapping) {
  EXPECT_TRUE(durability_of(file_system(0xEF53), Granularity::kLine).power_cut);
  EXPECT_TRUE(durability_of(file_system(0x1234), Granularity::kByte).power_cut);
}

}  // namespace
}  // namespace thermocline
