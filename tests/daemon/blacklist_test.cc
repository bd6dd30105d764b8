#include "daemon/blacklist.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace thermocline {
namespace {

constexpr Bytes kPage = 4096;

std::vector<Address> pages(Address first, std::size_t count) {
  std::vector<Address> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(first + i * kPage);
  return out;
}

class BlacklistTest : public ::testing::Test {
 protected:
  Blacklist list{Blacklist::Options{}, kPage};
};

TEST_F(BlacklistTest, BusyPagesRestForAWhileAndLongerEachTime) {
  list.failed(pages(kPage, 2), EBUSY, 0);
  EXPECT_EQ(list.ranges(), 1u);  // adjacent ones are one
  EXPECT_TRUE(list.resting(kPage, 7));
  EXPECT_TRUE(list.resting(2 * kPage, 7));
  EXPECT_FALSE(list.resting(3 * kPage, 7));
  EXPECT_FALSE(list.resting(kPage, 8));
  list.failed(pages(kPage, 2), EBUSY, 9);
  EXPECT_TRUE(list.resting(kPage, 9 + 15));
  EXPECT_FALSE(list.resting(kPage, 9 + 16));
}

TEST_F(BlacklistTest, WhatIsSharedOrForbiddenRestsLong) {
  list.failed(pages(kPage, 1), EACCES, 0);
  EXPECT_TRUE(list.resting(kPage, 255));
  EXPECT_FALSE(list.resting(kPage, 256));
}

TEST_F(BlacklistTest, NothingRestsForEver) {
  std::int64_t window = 0;
  std::int64_t rest = 0;
  for (int i = 0; i < 10; ++i) {
    list.failed(pages(kPage, 1), EACCES, window);
    for (rest = 0; list.resting(kPage, window + rest);) ++rest;
    window += rest;
  }
  EXPECT_EQ(rest, 1024);
}

TEST_F(BlacklistTest, AFullNodeOrADeadProcessIsNotThePagesFault) {
  list.failed(pages(kPage, 1), ENOMEM, 0);
  list.failed(pages(kPage, 1), ESRCH, 0);
  EXPECT_EQ(list.ranges(), 0u);
}

TEST_F(BlacklistTest, WhatWasLetBeForLongIsForgotten) {
  list.failed(pages(kPage, 1), EBUSY, 0);
  list.end_window(15);
  EXPECT_EQ(list.ranges(), 1u);
  list.end_window(16);
  EXPECT_EQ(list.ranges(), 0u);
  list.failed(pages(kPage, 1), EBUSY, 20);  // from the beginning
  EXPECT_FALSE(list.resting(kPage, 28));
}

TEST_F(BlacklistTest, RangesThatMeetBecomeOne) {
  list.failed(pages(kPage, 4), EBUSY, 0);
  list.failed(pages(3 * kPage, 4), EBUSY, 0);
  EXPECT_EQ(list.ranges(), 1u);
  auto left = pages(0, 10);
  EXPECT_EQ(list.leave_out(left, 1), 6u);
  EXPECT_EQ(left, (std::vector<Address>{0, 7 * kPage, 8 * kPage, 9 * kPage}));
}

TEST_F(BlacklistTest, GoesOnAfterARestart) {
  list.failed(pages(kPage, 2), EBUSY, 0);
  list.failed(pages(8 * kPage, 1), EACCES, 3);
  const auto memory = list.memory(5);
  ASSERT_EQ(memory.size(), 2u);
  Blacklist fresh({}, kPage);
  fresh.recall(memory, 100);  // five windows in, as it was
  EXPECT_TRUE(fresh.resting(2 * kPage, 102));
  EXPECT_FALSE(fresh.resting(2 * kPage, 103));
  EXPECT_TRUE(fresh.resting(8 * kPage, 353));
  EXPECT_FALSE(fresh.resting(8 * kPage, 354));
  fresh.failed(pages(kPage, 2), EBUSY, 103);  // twice as long
  EXPECT_TRUE(fresh.resting(kPage, 118));
  // What a damaged state may say.
  const Blacklist::Memory nonsense[] = {
      {5 * kPage, 4 * kPage, 1, 1, 0},
      {2 * kPage, 9 * kPage, 1, 1, 0},
      {20 * kPage, 21 * kPage, std::int64_t{1} << 62, -5, 255}};
  fresh.recall(nonsense, 103);
  EXPECT_EQ(fresh.ranges(), 3u);
  EXPECT_FALSE(fresh.resting(20 * kPage, 1'000'000));
}

TEST_F(BlacklistTest, IsBounded) {
  for (std::size_t i = 0; i < 2 * Blacklist::kMost; ++i) {
    list.failed(pages(i * 2 * kPage, 1), EACCES, 0);
  }
  EXPECT_EQ(list.ranges(), Blacklist::kMost);
}

}  // namespace
}  // namespace thermocline
