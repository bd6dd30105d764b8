#include "daemon/guard_switches.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(GuardSwitches, EachIsKnownAndAnotherIsRefusedWithTheirNames) {
  for (const auto& one : guard_switches()) {
    EXPECT_TRUE(guard_switch(one.name)) << one.name;
  }
  const auto status = guard_switch("capacity");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("thrashing"), std::string::npos);
}

TEST(GuardSwitches, WhatIsOffIsOffAndNothingElse) {
  const Service::Options on;
  Service::Options wanted;
  wanted.without = {"slowdown", "residence"};
  const auto off = switched(wanted);
  EXPECT_EQ(off.guards.slowdown.drop, 0);
  EXPECT_FALSE(off.guards.residence_holds);
  EXPECT_TRUE(off.guards.ping_pong_holds);
  EXPECT_EQ(off.guards.thrash, on.guards.thrash);
  EXPECT_EQ(off.pressure.waiting, on.pressure.waiting);
}

}  // namespace
}  // namespace thermocline
