#include "policies/usual.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace thermocline {
namespace {

TEST(Usual, KnowsNothingAtFirst) { EXPECT_FALSE(Usual().get()); }

TEST(Usual, IsWhatWasSeenWhereThatIsSteady) {
  Usual usual;
  usual.see(44);
  EXPECT_EQ(usual.get(), 44u);
  for (int i = 0; i < 20; ++i) usual.see(44);
  EXPECT_EQ(usual.get(), 44u);
}

TEST(Usual, PassesOverSingleErrors) {
  Usual usual;
  for (const Bytes seen :
       std::initializer_list<Bytes>{44, 45, 37, 44, 51, 45, 44, 39}) {
    usual.see(seen);
    EXPECT_GE(usual.get(), 44u);
    EXPECT_LE(usual.get(), 45u);
  }
}

TEST(Usual, FollowsAChangeAfterHalfOfWhatItRemembers) {
  Usual usual;
  for (int i = 0; i < 8; ++i) usual.see(100);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(usual.get(), 100u);
    usual.see(10);
  }
  EXPECT_EQ(usual.get(), 10u);  // the lower of the two in the middle
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(usual.get(), 10u);
    usual.see(100);
  }
  usual.see(100);
  EXPECT_EQ(usual.get(), 100u);
}

}  // namespace
}  // namespace thermocline
