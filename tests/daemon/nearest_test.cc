#include "daemon/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace thermocline {
namespace {

TEST(Nearest, IsTheNameThatWasMeant) {
  const std::vector<std::string> names = {"budget", "interval", "policy",
                                          "machine"};
  EXPECT_EQ(nearest("budgte", names), "budget");
  EXPECT_EQ(nearest("buget", names), "budget");
  EXPECT_EQ(nearest("intervall", names), "interval");
  EXPECT_EQ(nearest("machina", names), "machine");
  EXPECT_EQ(nearest("moon", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100'000, 'b'), names), "");
  EXPECT_EQ(nearest("budget", {}), "");
}

}  // namespace
}  // namespace thermocline
