#include "daemon/clock_map.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

TEST(ClockMap, IsTheIdentityWithoutPairs) {
  EXPECT_EQ(ClockMap().to_stream(12345), 12345);
}

TEST(ClockMap, InterpolatesBetweenPairs) {
  ClockMap map;
  map.add(1000, 0);
  map.add(2000, 100);
  map.add(3000, 400);
  EXPECT_EQ(map.to_stream(1500), 50);
  EXPECT_EQ(map.to_stream(2500), 250);
}

TEST(ClockMap, RunsOnBeforeTheFirstPairAtItsRate) {
  ClockMap map;
  map.add(1000, 500);
  map.add(2000, 1000);
  EXPECT_EQ(map.to_stream(0), 0);
}

TEST(ClockMap, NeverPassesWhatTheStreamHasShown) {
  ClockMap map;
  map.add(1000, 500);
  map.add(2000, 1000);
  EXPECT_EQ(map.to_stream(1'000'000), 1000);
}

TEST(ClockMap, DropsPairsThatDoNotAdvance) {
  ClockMap map;
  map.add(1000, 500);
  map.add(1000, 900);
  map.add(900, 600);
  map.add(2000, 500);
  map.add(3000, 1500);
  EXPECT_EQ(map.to_stream(2000), 1000);
}

TEST(ClockMap, ForgetsTheOldestAndStaysBounded) {
  ClockMap map;
  for (Nanos i = 0; i < 10'000; ++i) map.add(10 * i, i);
  EXPECT_EQ(map.to_stream(99'980), 9'998);
}

}  // namespace
}  // namespace thermocline
