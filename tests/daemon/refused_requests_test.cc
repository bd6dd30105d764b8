#include "daemon/refused_requests.h"

#include <gtest/gtest.h>

namespace thermocline {
namespace {

using Kind = RefusedRequests::Kind;
constexpr Nanos kSecond = 1'000'000'000;

TEST(RefusedRequests, TheFirstIsToldAndTheOthersAreCounted) {
  RefusedRequests refused;
  EXPECT_EQ(refused.add(Kind::kTooMany, "eve", 5),
            "eve was refused: it asks more often than --rate allows");
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(refused.add(Kind::kTooMany, "eve", 59 * kSecond));
  }
  // Another kind is another matter.
  EXPECT_EQ(refused.add(Kind::kStranger, "a key", 59 * kSecond),
            "a key was refused: it is not on the list of clients");
  EXPECT_EQ(refused.add(Kind::kTooMany, "ada", 61 * kSecond),
            "ada was refused: it asks more often than --rate allows; 1000 more "
            "were, by whomever, since the last such line");
  EXPECT_FALSE(refused.add(Kind::kTooMany, "ada", 62 * kSecond));
}

}  // namespace
}  // namespace thermocline
