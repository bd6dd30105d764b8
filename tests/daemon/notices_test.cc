#include "daemon/notices.h"

#include <gtest/gtest.h>

#include <vector>

namespace thermocline {
namespace {

TEST(Notices, TheLatestAreKeptAndEachIsHeardOnce) {
  Notices notices;
  std::vector<std::string> heard;
  std::uint64_t known = 0;
  const auto hear = [&] {
    notices.each_after(known, [&](const auto& line) { heard.push_back(line); });
    known = notices.given();
  };
  for (int i = 0; i < 100; ++i) {
    notices.add(std::to_string(i));
    hear();
  }
  hear();
  ASSERT_EQ(heard.size(), 100u);
  EXPECT_EQ(heard.back(), "99");
  EXPECT_EQ(notices.lines().size(), Notices::kMost);
  EXPECT_EQ(notices.lines().front(), "36");
  // More at once than are kept.
  for (int i = 0; i < 200; ++i) notices.add("more");
  hear();
  EXPECT_EQ(heard.size(), 100 + Notices::kMost);
}

}  // namespace
}  // namespace thermocline
