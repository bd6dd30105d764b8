#include "training/ranks/thread_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/ranks/ranks_checks.h"

namespace thermocline {
namespace {

class ThreadRanksOf : public testing::TestWithParam<int> {};

TEST_P(ThreadRanksOf, DoAsRanksMust) {
  run_as_threads(GetParam(), check_windows);
  run_as_threads(GetParam(), check_window_over);
  run_as_threads(GetParam(), check_many_small);
  run_as_threads(GetParam(), check_adds);
  run_as_threads(GetParam(), check_sums);
}

INSTANTIATE_TEST_SUITE_P(, ThreadRanksOf, testing::Values(1, 2, 3, 4));

TEST(ThreadRanks, ARankThatDoesNotComeIsNamed) {
  run_as_threads(
      3,
      [](Ranks& ranks) {
        if (ranks.rank() == 1) return;
        const auto came = ranks.barrier();
        ASSERT_FALSE(came.has_value());
        EXPECT_THAT(came.error().message,
                    testing::AnyOf(testing::HasSubstr("rank 1 did not reach"),
                                   testing::HasSubstr("given up")));
      },
      0.2);
}

TEST(ThreadRanks, OneAloneIsAJob) {
  const auto ranks = single_rank();
  check_windows(*ranks);
  check_sums(*ranks);
}

}  // namespace
}  // namespace thermocline
