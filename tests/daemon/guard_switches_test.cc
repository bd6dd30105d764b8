#include "daemon/guard_switches.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(GuardSwitches, EachIsKnownAndAnotherIsRefusedWithTheirNames) {
  for (const auto& name : guard_switches()) {
    Service::Options options;
    EXPECT_TRUE(switch_off(options, name)) << name;
  }
  Service::Options options;
  const auto status = switch_off(options, "capacity");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("thrashing"), std::string::npos);
  EXPECT_TRUE(switch_off(options, "slowdown"));
  EXPECT_EQ(options.guards.slowdown.drop, 0);
}

}  // namespace
}  // namespace thermocline
