// A program that runs with mpirun and without; here as it is built where there
// is no Open MPI.
#include "training/ranks/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

namespace thermocline {
namespace {

using testing::HasSubstr;

TEST(Job, WithoutMpirunRanksAreThreads) {
  EXPECT_FALSE(started_by_mpirun());
  std::atomic<int> ranks_seen = 0;
  ASSERT_TRUE(run_job(3, [&](Ranks& ranks) {
    EXPECT_EQ(ranks.size(), 3);
    EXPECT_TRUE(ranks.barrier());
    ranks_seen += ranks.rank();
  }));
  EXPECT_EQ(ranks_seen, 0 + 1 + 2);
}

TEST(Job, UnderMpirunWithoutOpenMpiItSaysWhatToDo) {
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  bool ran = false;
  const auto refused = run_job(2, [&](Ranks&) { ran = true; });
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("libopenmpi-dev"));
  EXPECT_FALSE(ran) << "not twice, each as if it were alone";
}

int ended(const std::function<Result<bool>(Ranks&)>& work, std::string& said) {
  testing::internal::CaptureStderr();
  const int status = run_program("job", 2, work);
  said = testing::internal::GetCapturedStderr();
  return status;
}

TEST(Job, AProgramsStatusIsThatOfItsRanks) {
  std::string said;
  EXPECT_EQ(ended([](Ranks&) -> Result<bool> { return true; }, said), 0);
  EXPECT_EQ(said, "");
  EXPECT_EQ(
      ended([](Ranks& ranks) -> Result<bool> { return ranks.rank() == 0; },
            said),
      0)
      << "what others think of the result is not asked";
  EXPECT_EQ(
      ended([](Ranks& ranks) -> Result<bool> { return ranks.rank() != 0; },
            said),
      1);
  EXPECT_EQ(ended(
                [](Ranks& ranks) -> Result<bool> {
                  if (ranks.rank() == 1) return io("no room");
                  return true;
                },
                said),
            1);
  EXPECT_EQ(said, "job: rank 1: no room\n");
}

}  // namespace
}  // namespace thermocline
