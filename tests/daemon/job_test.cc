#include "daemon/job.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace thermocline {
namespace {

Job::Options command(std::vector<std::string> words) {
  Job::Options options;
  options.command = std::move(words);
  return options;
}

TEST(Job, ReportsTheExitStatus) {
  auto job = Job::start(command({"sh", "-c", "exit 7"}));
  ASSERT_TRUE(job);
  ASSERT_TRUE(job->release());
  EXPECT_EQ(job->wait(), 7);
}

TEST(Job, ReportsASignalAsAShellDoes) {
  auto job = Job::start(command({"sh", "-c", "kill -9 $$"}));
  ASSERT_TRUE(job);
  ASSERT_TRUE(job->release());
  EXPECT_EQ(job->wait(), 128 + 9);
}

TEST(Job, DoesNotRunBeforeItIsReleased) {
  const std::string path = testing::TempDir() + "job_test_released";
  unlink(path.c_str());
  auto job = Job::start(command({"touch", path}));
  ASSERT_TRUE(job);
  usleep(50'000);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  ASSERT_TRUE(job->release());
  EXPECT_EQ(job->wait(), 0);
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  unlink(path.c_str());
}

TEST(Job, NamesACommandThatIsNotThere) {
  const auto status = Job::start(command({"/no/such/program"}));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kNotFound);
  EXPECT_NE(status.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Job, NamesACommandThatMayNotBeRun) {
  const auto status = Job::start(command({"/etc/passwd"}));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kPermission);
}

TEST(Job, LeavesNothingBehindWhenItIsNeverReleased) {
  int pid = 0;
  {
    auto job = Job::start(command({"sleep", "100"}));
    ASSERT_TRUE(job);
    pid = job->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(Job, EndsARunningJobWhenItGoesAway) {
  int pid = 0;
  {
    auto job = Job::start(command({"sleep", "100"}));
    ASSERT_TRUE(job);
    ASSERT_TRUE(job->release());
    pid = job->pid();
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST(Job, FixedAddressesAreTheSameInTwoRuns) {
  const std::string path = testing::TempDir() + "job_test_maps";
  std::string before;
  for (int run = 0; run < 2; ++run) {
    auto options = command({"sh", "-c", "head -1 /proc/$$/maps >" + path});
    options.fixed_addresses = true;
    auto job = Job::start(options);
    ASSERT_TRUE(job);
    ASSERT_TRUE(job->release());
    ASSERT_EQ(job->wait(), 0);
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    ASSERT_FALSE(line.empty());
    if (run == 1) {
      EXPECT_EQ(line, before);
    }
    before = line;
  }
  unlink(path.c_str());
}

TEST(Job, PassesTheEnvironmentAndItsDescriptorTellsTheEnd) {
  auto options = command({"sh", "-c", "test \"$WARM\" = yes"});
  options.environment = {{"WARM", "yes"}};
  auto job = Job::start(options);
  ASSERT_TRUE(job);
  ASSERT_TRUE(job->release());
  pollfd ended{job->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 10'000), 1);
  EXPECT_EQ(job->wait(), 0);
}

}  // namespace
}  // namespace thermocline
